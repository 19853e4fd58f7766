//! `uwf thread rm`

use serde_json::json;
use uwf_engine::verbs::rm;

use super::which::Which;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
use crate::style;

/// Arguments of `uwf thread rm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread rm 7Q2M\n\nAn active thread is refused: `uwf thread kill` ends it first. No node is deleted: who has the hash of a step can\nstill read it, and fork from it."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    rm::remove(&context.home, &thread)?;
    let text = format!("removed thread {} from the history\n", style::bold(thread.as_str()));
    Ok(Printed::of(json!({ "thread": thread, "archived": false }), text))
}
