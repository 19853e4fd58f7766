//! `uwf workflow …`

mod graph;
mod history;
mod list;
mod put;
mod rm;
mod rollback;
mod show;
mod trust;
mod validate;

use crate::context::CommandContext;
use crate::printer::{CommandResult, ReportFormat, StdoutContent};

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check a workflow file and store it under its name.
    Put(put::Args),
    /// Check a workflow file and store it, under NAME if there is one; `put` is the newer form.
    #[command(hide = true)]
    Add(put::AddArgs),
    /// Check workflow files without storing them.
    Validate(validate::Args),
    /// Print a workflow.
    Show(show::Args),
    /// List the workflows of the registry and of the project's .workflows directory.
    #[command(alias = "ls")]
    List(list::Args),
    /// Remove a name from the registry; the workflow itself stays in the store.
    Rm(rm::Args),
    /// List the versions of a name.
    History(history::Args),
    /// Point a name to an earlier version.
    Rollback(rollback::Args),
    /// Let the commands of a workflow's roles run on this machine.
    Trust(trust::Args),
    /// Draw the graph of a workflow as Mermaid, DOT or SVG, with a thread's path through it.
    Graph(graph::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf workflow validate flows/*.yaml         what is wrong, with line and column
  uwf workflow put flows/solve-issue.yaml    store it under its name
  uwf workflow list
  uwf workflow graph solve-issue";

impl Command {
    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        match self {
            Command::Graph(_) => StdoutContent::Document(ReportFormat::Text),
            _ => StdoutContent::Report,
        }
    }
}

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Put(args) => put::run(context, &args),
        Command::Add(args) => put::run(context, &args.into()),
        Command::Validate(args) => validate::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Rm(args) => rm::run(context, &args),
        Command::History(args) => history::run(context, &args),
        Command::Rollback(args) => rollback::run(context, &args),
        Command::Trust(args) => trust::run(context, &args),
        Command::Graph(args) => graph::run(context, &args),
    }
}
