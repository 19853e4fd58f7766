//! Removal of the worktrees of threads that no longer need them.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_core::thread::ThreadId;

use crate::attempt::settings::ThreadSettings;
use crate::attempt::worktree::{self, RemovedWorktree, WorktreeKeepReason};
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::worktree::Worktree;
use crate::root::{history, lock, sharing};

/// Removes the worktree of an ended thread, if it has one and no work would be lost: everything is committed, on some branch. With
/// `discard`, removes it in any case. Also removes its branch, if another branch has all its commits. The caller holds the thread's lock.
///
/// # Errors
/// `Usage` if work would be lost: then nothing was removed. `Io`, and errors of git.
pub(crate) fn remove(home: &Home, id: &ThreadId, discard: bool) -> Result<Option<RemovedWorktree>> {
    let Some(worktree) = saved_worktree(home, id, discard)? else { return Ok(None) };
    Ok(Some(worktree::remove_saved(home, id, &worktree)?))
}

/// The directory that [`remove`] would remove.
pub(crate) fn removable(home: &Home, id: &ThreadId, discard: bool) -> Result<Option<PathBuf>> {
    Ok(saved_worktree(home, id, discard)?.map(|worktree| worktree.dir))
}

fn saved_worktree(home: &Home, id: &ThreadId, discard: bool) -> Result<Option<Worktree>> {
    let Some(worktree) = worktree_of(home, id)? else { return Ok(None) };
    let unsaved = if discard { None } else { worktree::unsaved(&worktree)? };
    match unsaved {
        Some(unsaved) => Err(would_be_lost(id, &worktree.dir, &unsaved)),
        None => Ok(Some(worktree)),
    }
}

fn would_be_lost(id: &ThreadId, dir: &Path, unsaved: &WorktreeKeepReason) -> Error {
    let dir = dir.display();
    let merge = matches!(unsaved, WorktreeKeepReason::Uncommitted(_)).then(|| {
        format!("`uwf thread merge {id}` commits it and merges it into the branch checked out in the current directory")
    });
    Error::usage(format!("thread {id} has a worktree, {dir}, and {unsaved}"))
        .hints(merge)
        .hint(format!("look at it: git -C {dir} status"))
        .hint(format!("`uwf thread rm {id} --discard` removes it nevertheless; commits stay"))
}

/// The rejection of a worktree operation on a thread without a worktree.
pub(crate) fn without_worktree(id: &ThreadId) -> Error {
    Error::usage(format!("thread {id} has no git worktree: its agents work in its directory"))
        .hint("`uwf thread start --worktree` gives a thread one")
}

fn worktree_of(home: &Home, id: &ThreadId) -> Result<Option<Worktree>> {
    let settings = match ThreadSettings::load(home, id) {
        // Damaged settings don't say which worktree the thread had.
        Err(Error { cause: Some(ErrorCause::DamagedSettings), .. }) => None,
        settings => settings?,
    };
    Ok(settings.and_then(|settings| settings.worktree))
}

/// Result for the worktrees of ended threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WorktreeSweepCounts {
    /// Worktrees that were removed, or would be.
    pub(crate) removed: usize,
    /// Worktrees that stay, because work would be lost, or might be.
    pub(crate) kept: usize,
}

/// Removes the worktrees of threads that ended before a time, if no work would be lost; with `dry_run`, only counts them. Examines only
/// threads with a worktree, however many others there are.
///
/// # Errors
/// Errors of the history. A worktree that cannot be examined stays.
pub(crate) fn sweep(home: &Home, ended_before_ms: u64, dry_run: bool) -> Result<WorktreeSweepCounts> {
    let mut swept = WorktreeSweepCounts::default();
    let threads = with_worktrees(home)?;
    if threads.is_empty() {
        return Ok(swept);
    }
    for line in history::all(home)? {
        if line.completed_at >= ended_before_ms || !threads.contains(&line.thread) {
            continue;
        }
        let goes = if dry_run { is_saved(home, &line.thread) } else { remove_ended(home, &line.thread) };
        if goes {
            swept.removed += 1;
        } else {
            swept.kept += 1;
        }
    }
    Ok(swept)
}

/// Removes the worktree of an ended thread, if possible. Returns whether it was removed.
fn remove_ended(home: &Home, id: &ThreadId) -> bool {
    // A held lock means that a step is finishing or the thread is being removed.
    match sharing::check(home, id).and_then(|()| lock::take_within(home, id, Duration::ZERO)) {
        Ok(Some(_lock)) => remove(home, id, false).is_ok(),
        Ok(None) | Err(_) => false,
    }
}

fn is_saved(home: &Home, id: &ThreadId) -> bool {
    let Ok(Some(worktree)) = worktree_of(home, id) else { return false };
    matches!(worktree::unsaved(&worktree), Ok(None))
}

/// Threads with a directory among the worktrees.
fn with_worktrees(home: &Home) -> Result<BTreeSet<ThreadId>> {
    let dir = home.worktrees_dir();
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        other => other.path_context("list", &dir)?,
    };
    let mut threads = BTreeSet::new();
    for entry in entries {
        let name = entry.path_context("list", &dir)?.file_name();
        threads.extend(name.to_str().and_then(|name| name.parse::<ThreadId>().ok()));
    }
    Ok(threads)
}
