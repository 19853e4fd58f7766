//! `uwf thread rm`

use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;
use uwf_core::view;
use uwf_engine::attempt::worktree::RemovedWorktree;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::rm::{
    self, KeptThread, OldThreads, RemovableThread, RemovedChild, RemovedThread, RemovedThreads, ThreadRemoval,
};
use uwf_engine::views::list::ThreadRow;

use super::args::selection::{self, SelectionUse, ThreadSelection, ThreadsArg};
use super::several;
use crate::context::CommandContext;
use crate::duration;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::count;

/// States of threads that can be removed.
const ENDED: [ThreadState; 2] = [ThreadState::Completed, ThreadState::Killed];

/// Arguments of `uwf thread rm`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("threads", |arg| arg.required_unless_present_any(["older_than", "dry_run"])),
    after_help = "Examples:\n  uwf thread rm 7Q2M\n  uwf thread rm --workflow nightly --state killed --dry-run\n  uwf thread rm --older-than 90d --state completed --dry-run\n  uwf thread rm --older-than 90d && uwf gc\n\nKill an active thread before you remove it. Its child threads, such as the branches of a group, are removed with it. If its\nown parent is active, completed child threads are kept, so that a retry can reuse them. A completed branch can't be removed\nbefore its parent has the step of the group. Nodes stay until `uwf gc`: you can still read a step, or fork from it, by its\nhash. The git worktree of a thread is removed with it unless it has uncommitted changes. Its branch is kept if it has commits\nthat no other branch has.\n\n--older-than removes all threads that ended before then, except child threads of active threads. If a thread can't be\nremoved, the command reports it, removes the others, and exits with the code of the first failure."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadsArg,
    /// All threads that ended so long ago: `12h`, `90d`.
    #[arg(long, value_name = "DURATION", value_parser = duration::given, conflicts_with_all = ["threads", "last"])]
    older_than: Option<Duration>,
    /// Only print what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Also remove git worktrees with uncommitted changes.
    #[arg(long)]
    discard: bool,
}

/// The end state that `--state` names; `None` for both.
///
/// # Errors
/// `Usage` for a state of unfinished threads.
fn end_status(states: &[ThreadState]) -> Result<Option<EndStatus>, CommandError> {
    if let Some(state) = states.iter().find(|state| !ENDED.contains(state)) {
        return Err(CommandError::usage(format!("a thread that is {} can't be removed", state.name()))
            .hint("--state can be completed or killed; `uwf thread kill THREAD` ends a thread"));
    }
    let has = |state| states.contains(&state);
    Ok(match (has(ThreadState::Completed), has(ThreadState::Killed)) {
        (true, false) => Some(EndStatus::Completed),
        (false, true) => Some(EndStatus::Killed),
        _ => None,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OldReport {
    dry_run: bool,
    #[serde(flatten)]
    threads: RemovedThreads,
}

impl CommandReport for OldReport {
    fn text(&self) -> String {
        let RemovedThreads { removed, kept } = &self.threads;
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let mut text = String::new();
        for RemovedThread { thread, status, completed_at, worktree } in removed {
            let status = match status {
                EndStatus::Completed => ThreadState::Completed,
                EndStatus::Killed => ThreadState::Killed,
            };
            let (ended, id) = (view::time(*completed_at), style::bold(thread.as_str()));
            text.push_str(&format!("{verb} {id}  {} {ended}\n", status.name()));
            text.push_str(&of_worktree(worktree.as_ref()));
        }
        for KeptThread { thread, why, .. } in kept {
            text.push_str(&format!("{} {thread}: {why}\n", style::yellow("kept")));
        }
        let stays = if kept.is_empty() { String::new() } else { format!(", kept {}", kept.len()) };
        text.push_str(&format!("{verb} {}{stays}\n", count(removed.len(), "thread")));
        text
    }

    fn exit_code(&self) -> u8 {
        self.threads.kept.iter().find_map(|kept| kept.failure).map_or(0, ErrorKind::exit_code)
    }
}

fn of_worktree(removed: Option<&RemovedWorktree>) -> String {
    let Some(RemovedWorktree { dir, kept_branch }) = removed else { return String::new() };
    let branch =
        kept_branch.as_ref().map(|branch| format!("its branch {branch} stays: no other has all of its commits\n"));
    format!("removed its worktree {}\n{}", dir.display(), branch.unwrap_or_default())
}

/// Reports why threads were not removed: the first failure, and the number of failures.
fn tell_failure(context: &CommandContext, threads: &RemovedThreads) {
    let mut failed = threads.kept.iter().filter_map(|kept| Some((kept.failure?, kept)));
    let Some((kind, first)) = failed.next() else { return };
    let others = failed.count();
    let more = if others == 0 { String::new() } else { format!(" (and {} more)", count(others, "thread")) };
    let error = CommandError::new(kind, format!("thread {} was not removed{more}: {}", first.thread, first.why));
    context.printer.explain(&error.hint("run the same command again to remove the rest"));
}

/// Removes threads.
pub(crate) fn run(context: &CommandContext, mut args: Args) -> CommandResult {
    let status = end_status(&args.which.filters.state)?;
    let (discard, dry_run) = (args.discard, args.dry_run);
    let selection = match args.older_than {
        Some(older_than) if args.which.filters.is_narrower_than_state() => {
            let is_old = |row: &ThreadRow| {
                let ended = row.changed_at.unwrap_or(u64::MAX);
                Duration::from_millis(ids::now_ms().saturating_sub(ended)) >= older_than
            };
            ThreadSelection::Several(selection::filtered(context, &args.which.filters, &ENDED, is_old)?)
        }
        Some(older_than) => {
            let threads = rm::remove_old(&context.home, &OldThreads { older_than, status, discard, dry_run })?;
            tell_failure(context, &threads);
            return PrintableReport::new(&OldReport { dry_run, threads });
        }
        None if args.which.is_empty() => {
            return Err(CommandError::usage("--dry-run needs a thread, a filter, or --older-than")
                .hint("for instance: uwf thread rm --older-than 90d --dry-run"));
        }
        None => {
            args.which.confirmation.yes |= dry_run;
            args.which.select(context, SelectionUse { verb: "remove", states: &ENDED, expects: false })?
        }
    };
    several::act(context, selection, |thread| match dry_run {
        true => Ok(would_remove(thread, &rm::would_remove(&context.home, thread, discard)?)),
        false => remove(context, thread, discard),
    })
}

fn remove(context: &CommandContext, thread: &ThreadId, discard: bool) -> CommandResult {
    let ThreadRemoval { worktree, children } = rm::remove(&context.home, thread, discard)?;
    let mut text = format!("removed thread {} from the history\n", style::bold(thread.as_str()));
    let mut report = json!({ "thread": thread, "archived": false });
    text.push_str(&of_worktree(worktree.as_ref()));
    if let Some(worktree) = &worktree {
        report["worktree"] = json!(worktree);
    }
    for RemovedChild { thread, worktree } in &children {
        text.push_str(&format!("removed its child thread {thread}\n"));
        text.push_str(&of_worktree(worktree.as_ref()));
    }
    if !children.is_empty() {
        report["children"] = json!(children);
    }
    Ok(PrintableReport::value_with_text(report, text))
}

/// The report about a thread and its child threads that would be removed.
fn would_remove(id: &ThreadId, threads: &[RemovableThread]) -> PrintableReport {
    let mut text = String::new();
    let mut report = json!({ "thread": id, "dryRun": true });
    let mut children = Vec::new();
    for removable @ RemovableThread { thread, worktree } in threads {
        if thread == id {
            text.push_str(&format!("would remove thread {} from the history\n", style::bold(thread.as_str())));
            if let Some(dir) = worktree {
                report["worktree"] = json!({ "dir": dir });
            }
        } else {
            text.push_str(&format!("would remove its child thread {thread}\n"));
            children.push(removable);
        }
        if let Some(dir) = worktree {
            text.push_str(&format!("would remove its worktree {}\n", dir.display()));
        }
    }
    if !children.is_empty() {
        report["children"] = json!(children);
    }
    PrintableReport::value_with_text(report, text)
}
