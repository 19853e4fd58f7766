//! `uwf otel …`, and the hidden command that sends spans after a step.

mod export;
mod post;

use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::otel;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, ReportFormat, StdoutContent};

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Send or print all spans of a thread.
    Export(export::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf config set otel.endpoint http://localhost:4318    from now on each step sends its spans
  uwf otel export 7Q2M                                  send all spans of a thread
  uwf help tracing";

impl Command {
    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        match self {
            Command::Export(args) if args.prints() => StdoutContent::Document(ReportFormat::Json),
            Command::Export(_) => StdoutContent::Report,
        }
    }
}

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Export(args) => export::run(context, &args),
    }
}

/// Sends the spans since a step began. A failure is recorded in the thread's log.
pub(crate) fn after_step(thread: &str, head: &str, at: &str) -> Result<(), CommandError> {
    let unknown = || CommandError::usage(format!("thread `{thread}` has nothing to send since `{at}`"));
    let thread: ThreadId = thread.parse().map_err(|_| unknown())?;
    let at = at.parse().map_err(|_| unknown())?;
    let post = |to: &otel::OtelDestination, request: &_| post::post(to, request).map_err(|error| error.error);
    otel::perform(&Home::from_environment()?, &thread, head, at, &post);
    Ok(())
}
