//! `thread rm`: removes a finished thread from the listings. Its nodes stay.

mod family;
pub(crate) mod worktrees;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_files::FileLock;
use serde::Serialize;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads::{self, MAX_ANCESTORS};
use crate::attempt::recorded::claim;
use crate::attempt::worktree::RemovedWorktree;
use crate::error::{AtPath, Error, ErrorKind, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{ids, lock};
use crate::root::{missing_thread, sharing, workplace};

/// Maximum attempts to remove a directory. A command that saw the thread while it was active may still create a file there.
const REMOVE_TRIES: usize = 20;

/// A removed thread and its removed child threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRemoval {
    /// Its worktree, if it had one.
    pub worktree: Option<RemovedWorktree>,
    /// Its child threads, deepest first.
    pub children: Vec<RemovedChild>,
}

/// A child thread that was removed with its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedChild {
    /// Its id.
    pub thread: ThreadId,
    /// Its worktree, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RemovedWorktree>,
}

/// Removes a finished thread with its child threads: their lines from the history, and their local records from the disk. Deletes no node.
/// Also removes their worktrees, if they have no uncommitted changes or `discard` is set. If the parent of the thread is active, completed
/// child threads stay: the role that the thread played is played again, with their results.
///
/// # Errors
/// `Usage` if a thread is active, its worktree has uncommitted changes, or its parent needs its result: then nothing was removed. `NotFound` if the thread does not
/// exist, `Busy` if its last keeper is still at work.
pub fn remove(home: &Home, id: &ThreadId, discard: bool) -> Result<ThreadRemoval> {
    let generations = family::removable(home, id, discard)?;
    let mut removal = ThreadRemoval { worktree: None, children: Vec::new() };
    for threads in generations.iter().rev() {
        // Held until their lines are gone.
        let mut locks = Vec::new();
        for thread in threads {
            let (lock, worktree) = remove_records(home, thread, discard)?;
            locks.push(lock);
            match thread == id {
                true => removal.worktree = worktree,
                false => removal.children.push(RemovedChild { thread: thread.clone(), worktree }),
            }
        }
        // The lines go last, after all records from which a rebuilt index would restore the threads.
        forget(home, &threads.iter().collect::<Vec<_>>())?;
    }
    Ok(removal)
}

/// A thread that [`remove`] would remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovableThread {
    /// Its id.
    pub thread: ThreadId,
    /// The directory of its worktree, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
}

/// The threads that [`remove`] would remove: the thread itself, then its child threads.
pub fn would_remove(home: &Home, id: &ThreadId, discard: bool) -> Result<Vec<RemovableThread>> {
    let threads = family::removable(home, id, discard)?.into_iter().flatten();
    threads
        .map(|thread| {
            let worktree = worktrees::removable(home, &thread, discard)?;
            Ok(RemovableThread { thread, worktree })
        })
        .collect()
}

/// Removes this machine's records of a finished thread, except its line in the history.
fn remove_records(home: &Home, id: &ThreadId, discard: bool) -> Result<(FileLock, Option<RemovedWorktree>)> {
    check_ended(home, id)?;
    // Its keeper may still be finishing, and no step may begin in what is being removed.
    let lock = lock::take(home, id)?;
    let removed = worktrees::remove(home, id, discard)?;
    workplace::forget(home, id)?;
    marks::clear(home, id, &ThreadMark::ALL)?;
    claim::forget(home, id)?;
    for path in [home.thread_dir(id), home.chain_file(id), home.record_file(id)] {
        remove_all(&path).path_context("remove", &path)?;
    }
    Ok((lock, removed))
}

fn check_ended(home: &Home, id: &ThreadId) -> Result<()> {
    if home.heads().read(id.as_str())?.is_some() {
        return Err(
            Error::usage(format!("thread {id} is active")).hint(format!("`uwf thread kill {id}` ends it first"))
        );
    }
    if history::newest_line(home, id)?.is_none() {
        return Err(missing_thread::not_found(home, id));
    }
    sharing::check(home, id)
}

fn forget(home: &Home, threads: &[&ThreadId]) -> Result<()> {
    sync_dir(&home.threads_dir())?;
    let names: Vec<&str> = threads.iter().map(|thread| thread.as_str()).collect();
    home.journal().forget(&names)?;
    Ok(())
}

/// Threads whose history lines are removed together, since each removal rewrites the history. Their locks are open files meanwhile.
const AT_ONCE: usize = 100;

/// Which finished threads to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldThreads {
    /// Minimum time since they ended.
    pub older_than: Duration,
    /// How they ended; any way if absent.
    pub status: Option<EndStatus>,
    /// As for [`remove`].
    pub discard: bool,
    /// Only list them.
    pub dry_run: bool,
}

/// A removed thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedThread {
    /// Its id.
    pub thread: ThreadId,
    /// How it ended.
    pub status: EndStatus,
    /// When it ended, in Unix milliseconds.
    pub completed_at: u64,
    /// Its worktree, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RemovedWorktree>,
}

/// A thread that is old enough but was not removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptThread {
    /// Its id.
    pub thread: ThreadId,
    /// The reason.
    pub why: String,
    /// Kind of the failure; `None` if the thread is still needed.
    #[serde(skip)]
    pub failure: Option<ErrorKind>,
}

/// Result of removing old threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RemovedThreads {
    /// Removed threads, oldest first.
    pub removed: Vec<RemovedThread>,
    /// Threads that were not removed.
    pub kept: Vec<KeptThread>,
}

/// Removes all threads that ended at least `older_than` ago. A child thread stays while its parent is active: its outcome may not be part
/// of a step yet. If a thread cannot be removed, the others still are.
pub fn remove_old(home: &Home, old: &OldThreads) -> Result<RemovedThreads> {
    let now = ids::now_ms();
    let is_old = |line: &history::HistoryLine| {
        Duration::from_millis(now.saturating_sub(line.completed_at)) >= old.older_than
            && old.status.is_none_or(|status| status == line.shown_status())
    };
    let lines: Vec<history::HistoryLine> = history::all(home)?.into_iter().filter(is_old).collect();
    let mut done = RemovedThreads::default();
    for some in lines.chunks(AT_ONCE) {
        // Held until their lines are gone.
        let mut locks = Vec::new();
        let before = done.removed.len();
        for line in some {
            let history::HistoryLine { thread, completed_at, .. } = line;
            let kept = |why: String, failure| KeptThread { thread: thread.clone(), why, failure };
            if let Some(parent) = active_ancestor(home, thread)? {
                done.kept.push(kept(format!("its parent {parent} is active"), None));
                continue;
            }
            let worktree = match old.dry_run {
                true => None,
                false => match remove_records(home, thread, old.discard) {
                    Ok((lock, worktree)) => {
                        locks.push(lock);
                        worktree
                    }
                    Err(error) => {
                        done.kept.push(kept(error.message, Some(error.kind)));
                        continue;
                    }
                },
            };
            let (thread, status, completed_at) = (thread.clone(), line.shown_status(), *completed_at);
            done.removed.push(RemovedThread { thread, status, completed_at, worktree });
        }
        let threads: Vec<&ThreadId> = done.removed[before..].iter().map(|removed| &removed.thread).collect();
        if !old.dry_run && !threads.is_empty() {
            forget(home, &threads)?;
        }
    }
    Ok(done)
}

/// The active parent of a child thread. With a damaged record, the parent is unknown.
fn active_parent(home: &Home, id: &ThreadId) -> Result<Option<ThreadId>> {
    let Some(parent) = child_threads::parent_of(home, id) else { return Ok(None) };
    Ok(home.heads().read(parent.as_str())?.map(|_| parent))
}

/// The nearest active ancestor of a child thread. A group may have ended before its parent used its result.
fn active_ancestor(home: &Home, id: &ThreadId) -> Result<Option<ThreadId>> {
    let mut at = id.clone();
    for _ in 0..MAX_ANCESTORS {
        let Some(parent) = child_threads::parent_of(home, &at) else { return Ok(None) };
        if home.heads().read(parent.as_str())?.is_some() {
            return Ok(Some(parent));
        }
        at = parent;
    }
    Ok(None)
}

/// Removes a file or a whole directory, if it exists.
fn remove_all(path: &Path) -> std::io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && tries < REMOVE_TRIES => {}
            other => return other,
        }
    }
}

fn sync_dir(dir: &Path) -> Result<()> {
    match durable_files::sync_dir(dir) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(other?),
    }
}
