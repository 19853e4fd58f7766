//! `uwf thread resume`

use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::pause::{self, PauseReport};

use super::args::expect_head::ExpectHead;
use super::args::selection::{SelectionUse, ThreadsArg};
use super::several;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf thread resume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread resume 7Q2M      nothing is executed yet\n  uwf thread step 7Q2M\n  uwf thread resume --here"
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    #[command(flatten)]
    expect: ExpectHead,
}

/// Resumes threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let uses = SelectionUse { verb: "resume", states: &[ThreadState::Paused], expects: args.expect.expected.is_some() };
    several::act(context, args.which.select(context, uses)?, |thread| {
        let (state, was_paused) = pause::resume(&context.home, thread, args.expect.expected)?;
        if !was_paused {
            context.printer.warn(&format!("thread {thread} was not paused"));
        }
        PrintableReport::new(&PauseReport { thread: thread.clone(), state, pausing: false })
    })
}
