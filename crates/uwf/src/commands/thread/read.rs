//! `uwf thread read`

use json_cas::Hash;
use serde::Serialize;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::view::{self, LeftOut};
use uwf_engine::verbs::read::{self, DEFAULT_QUOTA, Place, Request};

use super::which::Which;
use crate::context::Context;
use crate::pager::Paging;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf thread read`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread read 7Q2M                         the newest steps, what it is stuck at, how it ended\n  uwf thread read 7Q2M --before 2XY1PEX26ZD0Y  what was left out\n  uwf thread read 7Q2M --start | less          from the beginning\n  uwf thread read 7Q2M --quota 200000 > run.md\n\nMarkdown unless --format says otherwise. Only the steps that are shown are read."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Characters that task and steps may take together, about.
    #[arg(long, value_name = "CHARS", default_value_t = DEFAULT_QUOTA)]
    quota: usize,
    /// The newest steps before this one: its hash, or a beginning of it.
    #[arg(long, value_name = "HASH", conflicts_with = "after")]
    before: Option<String>,
    /// The steps after this one, oldest first: its hash, or a beginning of it.
    #[arg(long, value_name = "HASH", conflicts_with = "start")]
    after: Option<String>,
    /// From the thread's start on, instead of the newest steps; with --before up to that step.
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Serialize)]
struct Readable {
    thread: ThreadId,
    workflow: Hash,
    markdown: String,
    /// Steps it shows, oldest first.
    steps: Vec<ShownStep>,
    earlier: Option<LeftOut>,
    later: Option<LeftOut>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownStep {
    index: usize,
    hash: Hash,
    role: String,
    /// Characters left out.
    left_out: usize,
}

impl Report for Readable {
    fn text(&self) -> String {
        self.markdown.clone()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let place = match (&args.before, &args.after, args.start) {
        (Some(step), _, true) => Place::Until(step.clone()),
        (Some(step), _, false) => Place::Before(step.clone()),
        (None, Some(step), _) => Place::After(step.clone()),
        (None, None, true) => Place::Start,
        (None, None, false) => Place::End,
    };
    let transcript = read::read(&context.home, &thread, &Request { place, quota: args.quota })?;
    for why in transcript.steps.iter().flat_map(unreadable) {
        context.printer.warn(&why);
    }
    let sections = transcript.steps.iter().zip(&transcript.page.sections);
    let steps = sections.map(|(step, section)| ShownStep {
        index: step.index,
        hash: step.hash,
        role: step.role.clone(),
        left_out: section.left_out,
    });
    let printed = Printed::new(&Readable {
        thread,
        workflow: transcript.workflow,
        markdown: view::page(&transcript.page),
        steps: steps.collect(),
        earlier: transcript.page.older.clone(),
        later: transcript.page.newer.clone(),
    })?;
    Ok(printed.paged(&args.paging))
}

/// What of a step could not be read.
fn unreadable(Step { index, unreadable, .. }: &Step) -> impl Iterator<Item = String> {
    unreadable.output.iter().chain(&unreadable.detail).map(move |why| format!("step {index}: {why}"))
}
