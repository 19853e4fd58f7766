//! `uwf skill`: reference texts for agents, and files through which their tools find these texts.

mod install;

use clap::{Command as Definitions, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::printer::{CommandReport, CommandResult, PrintableReport, ReportFormat, StdoutContent};
use crate::skills::SkillSubject;

/// Arguments of `uwf skill`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  uwf skill                     which there are
  uwf skill cli                 for an agent that drives threads
  uwf skill author              for an agent that writes workflows
  uwf skill install             ready files for Claude Code, codex and cursor

Each text is made from this program's own commands, keys and templates, and fits into a context window (16 KB at most)."
)]
pub(crate) struct Args {
    /// Text to print. Default: list all texts.
    subject: Option<SkillSubject>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a skill file where Claude Code, codex and cursor look for it.
    Install(install::Args),
}

impl Args {
    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        if self.subject.is_some() { StdoutContent::Document(ReportFormat::Text) } else { StdoutContent::Report }
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct SkillRow(Vec<SkillLine>);

#[derive(Serialize)]
struct SkillLine {
    name: &'static str,
    about: String,
}

impl CommandReport for SkillRow {
    fn text(&self) -> String {
        self.0.iter().map(|SkillLine { name, about }| format!("{name:<8} {about}\n")).collect()
    }
}

/// Prints a text, lists the texts, or installs the files.
pub(crate) fn run(args: &Args, root: Definitions) -> CommandResult {
    match (&args.command, args.subject) {
        (Some(Command::Install(args)), _) => install::run(args, root),
        (None, Some(subject)) => {
            let text = subject.text(root);
            Ok(PrintableReport::value_with_text(json!({ "subject": subject.name(), "markdown": text }), text))
        }
        (None, None) => {
            let line = |subject: &SkillSubject| SkillLine { name: subject.name(), about: subject.about() };
            PrintableReport::new(&SkillRow(SkillSubject::value_variants().iter().map(line).collect()))
        }
    }
}
