//! `uwf thread rm`

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::json;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;
use uwf_core::view;
use uwf_engine::attempt::worktree::RemovedWorktree;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::rm::{
    self, KeptThread, OldThreads, RemovableThread, RemovedChild, RemovedThread, RemovedThreads, ThreadRemoval,
};

use super::args::which::NEWEST;
use crate::complete;
use crate::context::CommandContext;
use crate::duration;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::count;

/// Arguments of `uwf thread rm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread rm 7Q2M\n  uwf thread rm --older-than 90d --state completed --dry-run\n  uwf thread rm --older-than 90d && uwf gc\n\nKill an active thread before you remove it. Its child threads, such as the branches of a group, are removed with it. If its\nown parent is active, completed child threads are kept, so that a retry can reuse them. A completed branch can't be removed\nbefore its parent has the step of the group. Nodes stay until `uwf gc`: you can still read a step, or fork from it, by its\nhash. The git worktree of a thread is removed with it unless it has uncommitted changes. Its branch is kept if it has commits\nthat no other branch has.\n\n--older-than removes all threads that ended before then, except child threads of active threads. If a thread can't be\nremoved, the command reports it, removes the others, and exits with the code of the first failure."
)]
pub(crate) struct Args {
    /// The thread: its id, a unique start or end of the id, or @ for the newest, @2 for the one before.
    #[arg(required_unless_present_any = ["last", "older_than", "dry_run"], conflicts_with_all = ["last", "older_than"])]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: Option<String>,
    /// The newest thread, like @.
    #[arg(long, conflicts_with = "older_than")]
    last: bool,
    /// All threads that ended so long ago: `12h`, `90d`.
    #[arg(long, value_name = "DURATION", value_parser = duration::given)]
    older_than: Option<Duration>,
    /// Only threads with this end state.
    #[arg(long, value_name = "STATE", value_parser = ended_parser(), requires = "older_than", conflicts_with_all = ["thread", "last"], ignore_case = true)]
    state: Option<EndStatus>,
    /// Only print what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Also remove git worktrees with uncommitted changes.
    #[arg(long)]
    discard: bool,
}

fn ended_parser() -> impl TypedValueParser<Value = EndStatus> {
    let (completed, killed) = (ThreadState::Completed.name(), ThreadState::Killed.name());
    PossibleValuesParser::new([completed, killed])
        .map(move |name| if name.eq_ignore_ascii_case(killed) { EndStatus::Killed } else { EndStatus::Completed })
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
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if let Some(older_than) = args.older_than {
        let old = OldThreads { older_than, status: args.state, discard: args.discard, dry_run: args.dry_run };
        let threads = rm::remove_old(&context.home, &old)?;
        tell_failure(context, &threads);
        return PrintableReport::new(&OldReport { dry_run: args.dry_run, threads });
    }
    if args.thread.is_none() && !args.last {
        return Err(CommandError::usage("--dry-run needs a thread, or --older-than")
            .hint("for instance: uwf thread rm --older-than 90d --dry-run"));
    }
    let thread = context.thread(args.thread.as_deref().unwrap_or(NEWEST))?;
    if args.dry_run {
        return Ok(would_remove(&thread, &rm::would_remove(&context.home, &thread, args.discard)?));
    }
    let ThreadRemoval { worktree, children } = rm::remove(&context.home, &thread, args.discard)?;
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
