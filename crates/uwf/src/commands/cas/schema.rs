//! `uwf cas schema …`

mod get;
mod list;
mod put;

use crate::context::CommandContext;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check a JSON Schema and store it, so that it can be a type.
    Put(put::Args),
    /// List all types.
    List(list::Args),
    /// Print the JSON Schema of a type.
    Get(get::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf cas schema put review.schema.json
  uwf cas schema list
  uwf cas schema get content";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Put(args) => put::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Get(args) => get::run(context, &args),
    }
}
