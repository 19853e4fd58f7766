//! `uwf thread kill`

use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::verbs::kill::{self, KillReport};

use super::args::expect_head::ExpectHead;
use super::args::selection::{SelectionUse, ThreadsArg};
use super::several;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf thread kill`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread kill 7Q2M\n  uwf thread kill 7Q2M M3KX\n  uwf thread kill --workflow nightly --state stuck,waiting\n\nRemoves the thread from the index, so that no step can be added, and then ends its agent and everything the agent\nstarted. The output of the agent is kept. `uwf thread fork` continues from the last step."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    #[command(flatten)]
    expect: ExpectHead,
}

/// Kills threads.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let uses = SelectionUse { verb: "kill", states: &[], expects: args.expect.expected.is_some() };
    several::act(context, args.which.select(context, uses)?, |thread| kill_one(context, thread, args.expect))
}

fn kill_one(context: &CommandContext, thread: &ThreadId, expect: ExpectHead) -> CommandResult {
    context.name_thread(thread);
    let end = kill::kill(&context.home, thread, expect.expected)?;
    if end.is_none() {
        context.printer.warn("the thread's nodes are not readable, so the history records only the kill");
    }
    let text = format!("killed thread {}; `uwf thread list --all` still lists it\n", style::bold(thread.as_str()));
    let task = end.and_then(|end| context.task_of_ended(end));
    let report = KillReport { thread: thread.clone(), archived: true, task };
    Ok(PrintableReport::value_with_text(json!(report), text))
}
