//! `uwf workflow …`

mod put;

use crate::context::Context;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check a workflow file and store it under its name.
    Put(put::Args),
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Put(args) => put::run(context, &args),
    }
}
