//! `uwf thread merge`

use serde::Serialize;
use serde_json::json;
use uwf_engine::verbs::merge::{self, MergeKind, MergeMethod, MergeReport};

use super::args::which::ThreadArg;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Symbols shown of a commit's hash.
const COMMIT: usize = 7;

/// Arguments of `uwf thread merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread merge 7Q2M            into the branch checked out here: fast-forward, else a merge commit\n  uwf thread merge 7Q2M --squash   as one commit\n  uwf thread merge 7Q2M --abort    back to before a merge that has conflicts\n\nCommits uncommitted changes of the thread's worktree on its branch first. Conflicts are listed and left to you (exit 20):\nresolve them, `git add` them, `git commit`. Thread, worktree and branch stay as they are."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    /// Merge all changes as one commit.
    #[arg(long, conflicts_with_all = ["no_ff", "ff_only"])]
    squash: bool,
    /// Create a merge commit, even if a fast-forward is possible.
    #[arg(long, conflicts_with = "ff_only")]
    no_ff: bool,
    /// Fast-forward only, or fail.
    #[arg(long)]
    ff_only: bool,
    /// Undo a merge that has conflicts.
    #[arg(long, conflicts_with_all = ["squash", "no_ff", "ff_only"])]
    abort: bool,
}

/// The result of a merge, with the task of its thread.
#[derive(Serialize)]
struct MergePrinted {
    #[serde(flatten)]
    report: MergeReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

impl CommandReport for MergePrinted {
    fn text(&self) -> String {
        let MergeReport { thread, branch, into, how, commit, committed, unsigned: _ } = &self.report;
        let commit = commit.get(..COMMIT).unwrap_or(commit);
        let into = into.as_deref().unwrap_or("the commit checked out here");
        let mut text = String::new();
        if *committed > 0 {
            let changes = if *committed == 1 { "change" } else { "changes" };
            text.push_str(&format!("committed {committed} {changes} of the worktree on {branch}\n"));
        }
        text.push_str(&match how {
            MergeKind::UpToDate => format!("{into} has all of {branch} already\n"),
            MergeKind::FastForward => {
                format!("{} {into} to {branch}, commit {commit}\n", style::green("fast-forwarded"))
            }
            MergeKind::Merge => format!("{} {branch} into {into}, commit {commit}\n", style::green("merged")),
            MergeKind::Squash => format!("{} {branch} into {into}, commit {commit}\n", style::green("squashed")),
        });
        text.push_str(&format!("remove thread and worktree with: uwf thread rm {thread}\n"));
        text
    }
}

/// Merges the branch of a thread, or undoes a merge with `--abort`.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    context.name_thread(&thread);
    if args.abort {
        merge::abort(&context.home, &thread, &context.cwd)?;
        let text = format!("the merge of thread {} is undone\n", style::bold(thread.as_str()));
        let report = json!({ "thread": thread, "aborted": true, "task": context.task_of(&thread) });
        return Ok(PrintableReport::value_with_text(report, text));
    }
    let manner = match (args.squash, args.no_ff, args.ff_only) {
        (true, ..) => MergeMethod::Squash,
        (_, true, _) => MergeMethod::MergeCommit,
        (.., true) => MergeMethod::FastForwardOnly,
        _ => MergeMethod::AsNeeded,
    };
    let report = merge::merge(&context.home, &thread, manner, &context.cwd)?;
    if let Some(why) = report.unsigned {
        context.printer.warn(why);
    }
    PrintableReport::new(&MergePrinted { task: context.task_of(&thread), report })
}
