//! The threads that are removed together: a thread and its child threads.

use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use super::{active_parent, check_ended, worktrees};
use crate::error::{Error, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::thread::children;

/// How many levels of child threads are removed. Far more than any `maxDepth`.
const MAX_GENERATIONS: usize = 64;

/// The thread, its child threads, their child threads, and so on, if all of them can be removed.
///
/// # Errors
/// `Usage` if one is active, or its worktree has uncommitted changes; `NotFound` if the thread does not exist.
pub(super) fn removable(home: &Home, id: &ThreadId, discard: bool) -> Result<Vec<Vec<ThreadId>>> {
    check_ended(home, id)?;
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
