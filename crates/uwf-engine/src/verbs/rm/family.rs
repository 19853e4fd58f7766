//! The threads that are removed together: a thread and its child threads.

use uwf_core::node::EndStatus;
use uwf_core::outcome;
use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use super::{active_parent, check_ended, worktrees};
use crate::attempt::child_threads;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::thread::children;
use crate::thread::load::Thread;

/// The thread, its child threads, their child threads, and so on, if all of them can be removed.
///
/// # Errors
/// `Usage` if one is active, its worktree has uncommitted changes, or its parent needs its result; `NotFound` if the thread does not exist.
pub(super) fn removable(home: &Home, id: &ThreadId, discard: bool) -> Result<Vec<Vec<ThreadId>>> {
    check_ended(home, id)?;
    refuse_needed(home, id)?;
    let keeps_completed = active_parent(home, id)?.is_some();
    let mut generations = vec![vec![id.clone()]];
    while let Some(last) = generations.last().filter(|_| generations.len() <= MAX_GENERATIONS) {
        let mut next = Vec::new();
        for parent in last {
            for child in children::known(home, parent)? {
                if home.heads().read(child.as_str())?.is_some() {
                    return Err(Error::usage(format!("child thread {child} of thread {parent} is active"))
                        .hint(format!("`uwf thread kill {child}` ends it first")));
                }
                let line = history::newest_line(home, &child)?;
                let goes = line.is_some_and(|line| !(keeps_completed && line.status == EndStatus::Completed));
                if goes {
                    check_ended(home, &child)?;
                    next.push(child);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        generations.push(next);
    }
    for thread in generations.iter().flatten() {
        worktrees::removable(home, thread, discard)?;
    }
    Ok(generations)
}

/// Rejects a child thread that has completed, or failed for a group that continues without it, while its parent needs the result: it would
/// be paid for again. A stuck parent may be unable to use the result of a workflow, so that thread can go. A branch cannot.
fn refuse_needed(home: &Home, id: &ThreadId) -> Result<()> {
    let has_result =
        |line: &HistoryLine| line.status == EndStatus::Completed || line.outcome.as_deref() == Some(outcome::FAILED);
    let ended = history::newest_line(home, id)?.filter(has_result);
    let settings = ThreadSettings::load(home, id)?.unwrap_or_default();
    let (Some(ended), Some(above)) = (ended, settings.parent) else { return Ok(()) };
    let Some(mut began_at) = Thread::load_at(home, id.clone(), ended.head)?.start.parent else { return Ok(()) };
    let mut parent = above;
    if settings.branch.is_some() {
        let Some(player) = child_threads::parent_of(home, &parent) else { return Ok(()) };
        let Some(before) = Thread::load_at(home, parent, began_at)?.start.parent else { return Ok(()) };
        (parent, began_at) = (player, before);
    } else if marks::get(home, &parent, ThreadMark::Stuck).is_some() {
        return Ok(());
    }
    // Once the parent has the step, its nodes have the result.
    if home.heads().read(parent.as_str())?.is_none_or(|head| head.hash != began_at) {
        return Ok(());
    }
    let what =
        settings.branch.map_or_else(|| "a child thread".to_owned(), |place| format!("branch `{}`", place.path()));
    Err(Error::usage(format!("thread {id} is {what} of thread {parent}, which still needs its result"))
        .hint(format!("`uwf thread retry {parent}`, or `uwf run {parent}`, uses the result; then you can remove it"))
        .hint(format!("or end the whole thread: `uwf thread kill {parent}`")))
}
