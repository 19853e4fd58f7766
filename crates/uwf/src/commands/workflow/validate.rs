//! `uwf workflow validate`

use std::path::PathBuf;

use serde::Serialize;
use uwf_engine::error::Kind;
use uwf_engine::validate::{self, Validated};

use crate::checked::Checked;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

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
struct Files(Vec<Checked>);

impl Report for Files {
    fn text(&self) -> String {
        self.0.iter().map(Checked::told).collect()
    }

    fn exit_code(&self) -> u8 {
        if self.0.iter().all(|file| file.valid) { 0 } else { Kind::Data.exit_code() }
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let mut files = Vec::with_capacity(args.files.len());
    for path in &args.files {
        let Validated { text, problems, .. } = validate::file(&context.home, path)?;
        files.push(Checked::new(path.display().to_string(), text, problems, args.strict));
    }
    Printed::new(&Files(files))
}
