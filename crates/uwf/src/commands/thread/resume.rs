//! `uwf thread resume`

use uwf_engine::verbs::pause::{self, PauseReport};

use super::args::expect_head::ExpectHead;
use super::args::which::ThreadArg;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf thread resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf thread resume 7Q2M      nothing is executed yet\n  uwf thread step 7Q2M")]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    #[command(flatten)]
    expect: ExpectHead,
}

/// Resumes a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let (state, was_paused) = pause::resume(&context.home, &thread, args.expect.expected)?;
    if !was_paused {
        context.printer.warn("the thread was not paused");
    }
    PrintableReport::new(&PauseReport { thread, state, pausing: false })
}
