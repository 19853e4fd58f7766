//! `uwf workflow validate`

use std::path::PathBuf;

use serde::Serialize;
use uwf_core::workflow::{Problem, Severity};
use uwf_engine::error::Kind;
use uwf_engine::validate::{self, Validated};

use super::snippet;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;

/// Arguments of `uwf workflow validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow validate solve-issue.yaml
  uwf workflow validate --strict flows/*.yaml
  uwf workflow validate flow.yaml | jq '.[].problems[] | [.line, .message]'

Exit 65 when a file has errors, with --strict also when it has warnings.")]
pub(crate) struct Args {
    /// The workflows, YAML or JSON.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Warnings are errors.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Checked(Vec<File>);

#[derive(Serialize)]
struct File {
    file: String,
    /// Whether `workflow put` would take it.
    valid: bool,
    problems: Vec<Problem>,
    #[serde(skip)]
    text: String,
}

impl Report for Checked {
    fn text(&self) -> String {
        self.0.iter().map(File::told).collect()
    }

    fn exit_code(&self) -> u8 {
        if self.0.iter().all(|file| file.valid) { 0 } else { Kind::Data.exit_code() }
    }
}

impl File {
    fn told(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| snippet::told(problem, &self.text)).collect();
        let (errors, warnings) = count(&self.problems);
        let counts = [counted(errors, "error"), counted(warnings, "warning")];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let verdict = if self.valid { style::green("valid") } else { style::red("not valid") };
        let counts = if counts.is_empty() { String::new() } else { format!(", {}", counts.join(", ")) };
        text.push_str(&format!("{}: {verdict}{counts}\n", self.file));
        text
    }
}

fn count(problems: &[Problem]) -> (usize, usize) {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    (errors, problems.len() - errors)
}

fn counted(count: usize, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let mut files = Vec::with_capacity(args.files.len());
    for path in &args.files {
        let Validated { text, problems, .. } = validate::file(&context.home, path)?;
        let (errors, warnings) = count(&problems);
        let valid = errors == 0 && (warnings == 0 || !args.strict);
        files.push(File { file: path.display().to_string(), valid, problems, text });
    }
    Printed::new(&Checked(files))
}
