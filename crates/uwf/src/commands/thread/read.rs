//! `uwf thread read`

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;
use serde::Serialize;
use serde_json::{Value, json};
use uwf_core::thread::{Step, ThreadId};
use uwf_core::view::{self, LeftOut};
use uwf_engine::views::read::{self, DEFAULT_QUOTA, ReadFrom, ReadRequest, ThreadTranscript};

use super::args::which::ThreadArg;
use crate::complete;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, OwnFormat, PrintableReport, ReportFormat, formats};

/// Arguments of `uwf thread read`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread read 7Q2M                         the newest steps, what it is stuck at, how it ended\n  uwf thread read 7Q2M --before 2XY1PEX26ZD0Y  what was left out\n  uwf thread read 7Q2M --start | less          from the beginning\n  uwf thread read 7Q2M --quota 200000 > run.md\n  uwf thread read 7Q2M --format github >> \"$GITHUB_STEP_SUMMARY\"\n\nMarkdown unless --format says otherwise. Only the steps that are shown are read."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    /// Characters that task and steps may take together, about. Default: 20000; for github 400000.
    #[arg(long, value_name = "CHARS")]
    quota: Option<usize>,
    /// The newest steps before this one: its hash, or the start of the hash.
    #[arg(long, value_name = "HASH", conflicts_with = "after", add = ArgValueCompleter::new(complete::hashes))]
    before: Option<String>,
    /// The steps after this one, oldest first: its hash, or the start of the hash.
    #[arg(long, value_name = "HASH", conflicts_with = "start", add = ArgValueCompleter::new(complete::hashes))]
    after: Option<String>,
    /// From the thread's start on, instead of the newest steps; with --before up to that step.
    #[arg(long)]
    start: bool,
    /// How to print the page. Default: text. `github` is for the summary of a job of GitHub Actions, `github-annotations` for its
    /// log: a line for each file and line that an output names.
    #[arg(id = "format", long = "format", value_name = "FORMAT", value_parser = formats(&OWN))]
    format: Option<ReportFormat>,
    #[command(flatten)]
    paging: PagerArgs,
}

/// Formats of this command only.
const OWN: [OwnFormat; 2] = [OwnFormat::Github, OwnFormat::GithubAnnotations];

/// Size of a page for GitHub, whose limit is 1 MiB.
const GITHUB_QUOTA: usize = 400_000;

/// A thread as a page, and as data.
#[derive(Serialize)]
struct ThreadPageReport {
    thread: ThreadId,
    workflow: NodeHash,
    markdown: String,
    steps: Vec<Value>,
    earlier: Option<LeftOut>,
    later: Option<LeftOut>,
    #[serde(skip)]
    transcript: ThreadTranscript,
}

impl CommandReport for ThreadPageReport {
    fn text(&self) -> String {
        self.markdown.clone()
    }

    fn own(&self, format: OwnFormat) -> String {
        match format {
            OwnFormat::GithubAnnotations => {
                view::github::annotations(&self.transcript.steps).iter().map(|line| format!("{line}\n")).collect()
            }
            _ => view::github::summary(&self.transcript.page),
        }
    }
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
    let default = if matches!(args.format, Some(ReportFormat::Own(_))) { GITHUB_QUOTA } else { DEFAULT_QUOTA };
    let quota = args.quota.unwrap_or(default);
    let transcript = read::read(&context.home, &thread, &ReadRequest { place, quota })?;
    for why in transcript.steps.iter().flat_map(unreadable) {
        context.printer.warn(&why);
    }
    let sections = transcript.steps.iter().zip(&transcript.page.sections);
    let steps: Vec<Value> = sections
        .map(|(step, section)| {
            json!({ "index": step.index, "hash": step.hash, "role": step.role, "leftOut": section.left_out })
        })
        .collect();
    let report = ThreadPageReport {
        thread,
        workflow: transcript.workflow,
        markdown: view::page(&transcript.page),
        steps,
        earlier: transcript.page.older.clone(),
        later: transcript.page.newer.clone(),
        transcript,
    };
    Ok(PrintableReport::long(report)?.paged(&args.paging))
}

/// The unreadable parts of a step.
fn unreadable(Step { index, unreadable, .. }: &Step) -> impl Iterator<Item = String> {
    unreadable.output.iter().chain(&unreadable.detail).map(move |why| format!("step {index}: {why}"))
}
