//! `uwf thread pause`

use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::pause::{self, PauseReport};

use super::args::expect_head::ExpectHead;
use super::args::selection::{SelectionUse, ThreadsArg};
use super::several;
use crate::commands::thread::show;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// States of threads that filters select: all unfinished ones that are not paused yet.
const PAUSABLE: [ThreadState; 5] =
    [ThreadState::Active, ThreadState::Running, ThreadState::Waiting, ThreadState::Limited, ThreadState::Stuck];

/// States of threads that are not paused.
const FINISHED: [ThreadState; 2] = [ThreadState::Completed, ThreadState::Killed];

/// Arguments of `uwf thread pause`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread pause 7Q2M\n  uwf thread pause 7Q2M --reason 'until the release is out'\n  uwf thread pause --here --yes\n\nA running step finishes. The next step exits with 20, including steps of child threads."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    #[command(flatten)]
    expect: ExpectHead,
    /// Reason, shown to people.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl CommandReport for PauseReport {
    fn text(&self) -> String {
        let then = if self.pausing { "; it pauses once this step has ended" } else { "" };
        format!("thread {} is {}{then}\n", style::bold(self.thread.as_str()), show::state(self.state, false, None))
    }
}

/// Pauses threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if let Some(state) = args.which.filters.state.iter().find(|state| FINISHED.contains(state)) {
        let states = PAUSABLE.map(ThreadState::name).join(", ");
        return Err(CommandError::usage(format!("a thread that is {} can't be paused", state.name()))
            .hint(format!("--state can be {states}")));
    }
    let uses = SelectionUse { verb: "pause", states: &PAUSABLE, expects: args.expect.expected.is_some() };
    several::act(context, args.which.select(context, uses)?, |thread| {
        let state = pause::pause(&context.home, thread, args.reason.as_deref(), args.expect.expected)?;
        let pausing = state == ThreadState::Running;
        PrintableReport::new(&PauseReport { thread: thread.clone(), state, pausing })
    })
}
