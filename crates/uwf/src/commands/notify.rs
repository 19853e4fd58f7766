//! `uwf notify …`, and the hidden command that notifies people about a thread.

mod listen;

use uwf_core::config::NotifyEvent;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::notifier;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::messengers::MessageSender;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Receive the answers of people from ntfy and Slack.
    Listen(listen::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf notify listen        record answers from a phone or from Slack, until Ctrl-C
  uwf help configuration   the keys of `notify`";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Listen(args) => listen::run(context, &args),
    }
}

/// Notifies about an event of a thread.
pub(crate) fn after_step(thread: &str, happening: &str) -> Result<(), CommandError> {
    let unknown = || CommandError::usage(format!("cannot report `{happening}` of `{thread}`"));
    let thread: ThreadId = thread.parse().map_err(|_| unknown())?;
    let happening = NotifyEvent::named(happening).ok_or_else(unknown)?;
    let home = Home::from_environment()?;
    Ok(notifier::perform(&home, &thread, happening, &MessageSender(&home))?)
}
