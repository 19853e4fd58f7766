//! `uwf cas …`

mod get;

use crate::context::Context;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print a node.
    Get(get::Args),
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Get(args) => get::run(context, &args),
    }
}
