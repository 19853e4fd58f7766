//! `uwf thread diff`

mod unified;

use std::fmt::Write as _;
use std::io::IsTerminal;

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_engine::verbs::diff::{
    self, ComparedFiles, ComparedOutputs, DiffOptions, DiffReport, DiffSide, DiffStepOutput, DiffSubject, FileChange,
};

use super::args::thread_or_node::{self, ThreadOrNode};
use super::args::which::NEWEST;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Printed if no file differs.
const SAME_FILES: &str = "the files are the same";

/// Arguments of `uwf thread diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread diff 7Q2M                          the newest step against the one before\n  uwf thread diff 7Q2M M4K8 --stat              two threads: outputs, and which files differ by how many lines\n  uwf thread diff 2XY1PEX26ZD0Y 7GR8D63H2JTSB   two steps of any threads\n  uwf thread diff 7Q2M M4K8 --files | git apply\n\nFor two threads, compares the outputs of the steps that they do not share, position by position; outputs of groups,\nbranch by branch. Files are compared for threads with a git worktree (uwf thread start --worktree). Prints text unless\n--format says otherwise."
)]
pub(crate) struct Args {
    /// A thread (its id, a unique start or end of the id, @ for the newest), or a step (its hash, or a unique start of the hash).
    #[arg(value_name = "THREAD|HASH", required_unless_present = "last", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    from: Option<String>,
    /// Compare with this. Default: the newest step with the one before.
    #[arg(value_name = "THREAD|HASH", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    to: Option<String>,
    /// The newest thread, like @.
    #[arg(long)]
    last: bool,
    /// For files, show only the number of changed lines.
    #[arg(long)]
    stat: bool,
    /// Files only.
    #[arg(long, conflicts_with = "outputs")]
    files: bool,
    /// Outputs only.
    #[arg(long, conflicts_with = "stat")]
    outputs: bool,
    #[command(flatten)]
    paging: PagerArgs,
}

/// The differences as text for people.
#[derive(Serialize)]
#[serde(transparent)]
struct ThreadDiffReport(DiffReport);

impl CommandReport for ThreadDiffReport {
    fn text(&self) -> String {
        let DiffReport { a, b, outputs, files, .. } = &self.0;
        let mut text = String::new();
        match outputs.as_deref() {
            Some([]) => text.push_str("the outputs are the same\n"),
            Some(pairs) => pairs.iter().for_each(|pair| text.push_str(&output_text(pair))),
            None => {}
        }
        if let Some(ComparedFiles { changed, patch, .. }) = files {
            match patch {
                _ if changed.is_empty() => {
                    let _ = writeln!(text, "{SAME_FILES}");
                }
                Some(patch) if outputs.is_none() => text.push_str(&coloured(&patch.text())),
                Some(patch) => {
                    let _ = write!(text, "\n{}\n{}", style::bold(&files_line(a, b)), coloured(&patch.text()));
                }
                None => {
                    let _ = write!(text, "\n{}\n{}", style::bold(&files_line(a, b)), stat(changed));
                }
            }
        }
        text
    }
}

fn files_line(a: &DiffSide, b: &DiffSide) -> String {
    let named = |side: &DiffSide| match &side.thread {
        Some(thread) => format!("{} of thread {thread}", side.step),
        None => side.step.to_string(),
    };
    format!("files at {} and {}", named(a), named(b))
}

/// The difference of two outputs as YAML, which shows long texts line by line.
fn output_text(ComparedOutputs { a, b, .. }: &ComparedOutputs) -> String {
    let yaml = |side: &Option<DiffStepOutput>| {
        side.as_ref().map(|output| yaml_tree::write::block(&output.output)).unwrap_or_default()
    };
    let name = |side: &Option<DiffStepOutput>| match side {
        Some(DiffStepOutput { index, step, role, branch, .. }) => {
            let index = index.map(|index| format!("{index}. ")).unwrap_or_default();
            let branch = branch.as_ref().map(|branch| format!(".{branch}")).unwrap_or_default();
            format!("{index}{role}{branch} {step}")
        }
        None => "no step".to_owned(),
    };
    let (one, other) = (yaml(a), yaml(b));
    coloured(&unified::unified((&name(a), &one), (&name(b), &other)))
}

/// A unified diff with coloured lines.
fn coloured(patch: &str) -> String {
    let line = |line: &str| {
        let is_header = ["diff ", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ", "similarity "]
            .iter()
            .any(|begin| line.starts_with(begin));
        match line.as_bytes().first() {
            _ if is_header => style::bold(line),
            Some(b'+') => style::green(line),
            Some(b'-') => style::red(line),
            Some(b'@') => style::dim(line),
            _ => line.to_owned(),
        }
    };
    patch
        .split_inclusive('\n')
        .map(|whole| match whole.strip_suffix('\n') {
            Some(text) => line(text) + "\n",
            None => line(whole) + "\n",
        })
        .collect()
}

/// The number of changed lines in each file.
fn stat(changed: &[FileChange]) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let mut text = String::new();
    for FileChange { path, before, added, removed } in changed {
        let path = match before {
            Some(before) => format!("{before} → {path}"),
            None => path.clone(),
        };
        let (added, removed) =
            (format!("{:>6}", format!("+{}", number(*added))), format!("{:>6}", format!("-{}", number(*removed))));
        let _ = writeln!(text, "{}{}  {path}", style::green(&added), style::red(&removed));
    }
    let sum = |of: fn(&FileChange) -> Option<u64>| changed.iter().filter_map(of).sum::<u64>();
    let files = if changed.len() == 1 { "file differs" } else { "files differ" };
    let (added, removed) = (sum(|change| change.added), sum(|change| change.removed));
    let lines = if added == 1 { "line" } else { "lines" };
    let _ = writeln!(text, "{} {files}, {added} {lines} added, {removed} removed", changed.len());
    text
}

/// Compares two steps.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let a = named(context, args.from.as_deref().unwrap_or(NEWEST))?;
    let b = args.to.as_deref().map(|to| named(context, to)).transpose()?;
    let wanted = DiffOptions { outputs: !args.files, files: !args.outputs, patch: !args.stat };
    let compared = diff::compare(&context.home, &a, b.as_ref(), wanted, &context.cwd)?;
    if let Some(why) = &compared.no_files {
        context.printer.warn(&format!("only outputs are compared: {why}"));
    }
    if args.files && !args.stat && context.printer.prints_text() && !std::io::stdout().is_terminal() {
        return Ok(for_git_apply(context, compared));
    }
    Ok(PrintableReport::new(&ThreadDiffReport(compared))?.paged(&args.paging))
}

/// Only the patch, byte for byte.
fn for_git_apply(context: &CommandContext, compared: DiffReport) -> PrintableReport {
    let patch = compared.files.and_then(|files| files.patch).map(|patch| patch.0).unwrap_or_default();
    if patch.is_empty() {
        context.printer.talk(SAME_FILES);
    }
    PrintableReport::bytes(patch)
}

fn named(context: &CommandContext, typed: &str) -> Result<DiffSubject, CommandError> {
    Ok(match thread_or_node::find(context, typed)? {
        ThreadOrNode::Thread(thread) => DiffSubject::Thread(thread),
        ThreadOrNode::Node(node) => DiffSubject::Node(node),
    })
}
