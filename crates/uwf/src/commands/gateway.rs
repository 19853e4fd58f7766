//! `uwf gateway …`

mod list;
mod revoke;
mod token;

use uwf_engine::error::ErrorKind;
use uwf_server::{MachineName, TokenError};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a machine's token; its earlier token becomes invalid.
    Token(token::Args),
    /// List the machines that have a token.
    #[command(alias = "ls")]
    List(list::Args),
    /// Revoke a machine's token and end its connection.
    Revoke(revoke::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf gateway token laptop
  uwf gateway list
  uwf gateway revoke laptop

Run them on the machine that runs `uwf serve --gateway`, with the same storage root. A token is printed once; the storage
root keeps only its hash.";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Token(args) => token::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Revoke(args) => revoke::run(context, &args),
    }
}

/// Parses the name of a machine.
fn name(text: &str) -> Result<MachineName, String> {
    text.parse().map_err(|error: uwf_server::NotAName| error.to_string())
}

fn failure(error: &TokenError) -> CommandError {
    let kind = match error {
        TokenError::Busy(_) => ErrorKind::Busy,
        TokenError::Damaged { .. } => ErrorKind::Data,
        TokenError::File(_) | TokenError::Read { .. } => ErrorKind::Io,
    };
    let failure = CommandError::new(kind, error.to_string());
    match error {
        TokenError::Damaged { .. } => failure.hint("remove it; each machine then needs a new token"),
        TokenError::Busy(_) | TokenError::File(_) | TokenError::Read { .. } => failure,
    }
}
