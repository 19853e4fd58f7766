//! `uwf thread read`

use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};
use uwf_core::thread::Step;
use uwf_core::view;
use uwf_engine::views::read::{self, DEFAULT_QUOTA, ReadFrom, ReadRequest};

use super::args::which::ThreadArg;
use crate::complete;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf thread read`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread read 7Q2M                         the newest steps, what it is stuck at, how it ended\n  uwf thread read 7Q2M --before 2XY1PEX26ZD0Y  what was left out\n  uwf thread read 7Q2M --start | less          from the beginning\n  uwf thread read 7Q2M --quota 200000 > run.md\n\nMarkdown unless --format says otherwise. Only the steps that are shown are read."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    /// Characters that task and steps may take together, about.
    #[arg(long, value_name = "CHARS", default_value_t = DEFAULT_QUOTA)]
    quota: usize,
    /// The newest steps before this one: its hash, or the start of the hash.
    #[arg(long, value_name = "HASH", conflicts_with = "after", add = ArgValueCompleter::new(complete::hashes))]
    before: Option<String>,
    /// The steps after this one, oldest first: its hash, or the start of the hash.
    #[arg(long, value_name = "HASH", conflicts_with = "start", add = ArgValueCompleter::new(complete::hashes))]
    after: Option<String>,
    /// From the thread's start on, instead of the newest steps; with --before up to that step.
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    paging: PagerArgs,
}

/// Prints the steps of a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let place = match (&args.before, &args.after, args.start) {
        (Some(step), _, true) => ReadFrom::Until(step.clone()),
        (Some(step), _, false) => ReadFrom::Before(step.clone()),
        (None, Some(step), _) => ReadFrom::After(step.clone()),
        (None, None, true) => ReadFrom::Start,
        (None, None, false) => ReadFrom::End,
    };
    let transcript = read::read(&context.home, &thread, &ReadRequest { place, quota: args.quota })?;
    for why in transcript.steps.iter().flat_map(unreadable) {
        context.printer.warn(&why);
    }
    let sections = transcript.steps.iter().zip(&transcript.page.sections);
    let steps: Vec<Value> = sections
        .map(|(step, section)| {
            json!({ "index": step.index, "hash": step.hash, "role": step.role, "leftOut": section.left_out })
        })
        .collect();
    let markdown = view::page(&transcript.page);
    let value = json!({
        "thread": thread,
        "workflow": transcript.workflow,
        "markdown": markdown,
        "steps": steps,
        "earlier": transcript.page.older,
        "later": transcript.page.newer,
    });
    Ok(PrintableReport::value_with_text(value, markdown).paged(&args.paging))
}

/// The unreadable parts of a step.
fn unreadable(Step { index, unreadable, .. }: &Step) -> impl Iterator<Item = String> {
    unreadable.output.iter().chain(&unreadable.detail).map(move |why| format!("step {index}: {why}"))
}
