//! `uwf thread resume`

use uwf_engine::verbs::pause::{self, PauseReport};

use super::args::expect_head::ExpectHead;
use super::args::which::Which;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};

/// Arguments of `uwf thread resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf thread resume 7Q2M      nothing is executed yet\n  uwf thread step 7Q2M")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    expect: ExpectHead,
}

/// Resumes a thread.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let (state, was_paused) = pause::resume(&context.home, &thread, args.expect.expected)?;
    if !was_paused {
        context.printer.warn("the thread was not paused");
    }
    Printed::new(&PauseReport { thread, state, pausing: false })
}
