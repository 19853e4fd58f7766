//! A merge into a checkout, recorded in a note while it runs. If the merge is killed or fails, its changes are undone.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use durable_files::{FileLock, TEMP_PREFIX, regular};
use serde::{Deserialize, Serialize};

use crate::attempt::git::GitRunner;
use crate::error::{AtPath, Error, ErrorCause, Result};

/// How long to wait for another merge into the same checkout.
const OTHERS: Duration = Duration::from_secs(30);

/// How long a git that outlived its merge may hold a lock.
const ORPHAN: Duration = Duration::from_secs(3);

/// Files that git locks in the git directory of a working tree to merge and commit.
const LOCKED: [&str; 6] = ["AUTO_MERGE", "HEAD", "MERGE_HEAD", "MERGE_RR", "ORIG_HEAD", "index"];

/// Files of a merge that the next commit uses. They must not reach a later, unrelated commit.
const OF_NEXT_COMMIT: [&str; 6] = ["AUTO_MERGE", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "SQUASH_MSG"];

/// Beginning of the names of git's copies of the index during a merge.
const STASHED_INDEX: &str = "index.stash.";

/// The right to merge into a checkout. Others wait for it.
pub(super) struct MergeLock<'t> {
    target: &'t GitRunner<'t>,
    top: &'t Path,
    note: PathBuf,
    git_dir: PathBuf,
    _lock: FileLock,
}

/// A merge that is about to run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MergeNote {
    /// The commit that was checked out.
    before: String,
    /// The newest commit of the branch; unknown while the changes in the thread's worktree are committed.
    tip: Option<String>,
    /// Files with changes of the person, and untracked files. A merge touches none of them.
    own: Vec<String>,
    /// A commit with these changes, because git may remove them while it merges.
    #[serde(default)]
    saved: Option<String>,
    /// The [`OF_NEXT_COMMIT`] files that existed before.
    #[serde(default)]
    had: Vec<String>,
    /// Other locks that git may leave.
    #[serde(default)]
    locks: Vec<PathBuf>,
}

impl<'t> MergeLock<'t> {
    /// Waits for other merges into a checkout, and undoes a killed one.
    ///
    /// # Errors
    /// `Busy` when another merge takes too long; errors of git and of files.
    pub(super) fn take(target: &'t GitRunner<'t>, top: &'t Path) -> Result<MergeLock<'t>> {
        let git_dir = target.git_dir()?;
        let lock = git_dir.join("uwf-merge.lock");
        let lock = FileLock::acquire(&lock, OTHERS)?.ok_or_else(|| {
            Error::busy(format!("another `uwf thread merge` is running in {}", top.display()))
                .hint("try again when it has ended")
        })?;
        let turn = MergeLock { target, top, note: git_dir.join("uwf-merge"), git_dir, _lock: lock };
        // Remove notes that were not written completely.
        turn.sweep(TEMP_PREFIX)?;
        turn.undo()?;
        Ok(turn)
    }

    /// Runs `work`, which may change the checkout and `worktree`, the git directory of the thread's worktree with `branch`. `work` gets a
    /// function to record the commit to be merged. If `work` fails, its changes are undone.
    pub(super) fn run<T>(
        &self,
        branch: &str,
        worktree: Option<PathBuf>,
        work: impl FnOnce(&dyn Fn(String) -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let Some(before) = self.target.commit("HEAD")? else { return work(&|_| Ok(())) };
        let own = self.target.own_changes()?;
        let saved = if own.is_empty() { None } else { self.saved()? };
        let repository = self.target.repository()?;
        let checked_out = self.target.checked_out()?;
        let branches = [Some(branch), checked_out.as_deref()].into_iter().flatten();
        let mut locks: Vec<PathBuf> = branches.map(|name| repository.join(format!("refs/heads/{name}.lock"))).collect();
        locks.push(repository.join("packed-refs.lock"));
        locks.extend(worktree.iter().flat_map(|dir| locks_in(dir)));
        let had = OF_NEXT_COMMIT.iter().filter(|name| self.git_dir.join(name).exists());
        let had: Vec<String> = had.map(ToString::to_string).collect();
        let note = |tip| MergeNote {
            before: before.clone(),
            tip,
            own: own.clone(),
            saved: saved.clone(),
            had: had.clone(),
            locks: locks.clone(),
        };
        let write = |tip| {
            let note = serde_json::to_vec(&note(tip)).unwrap_or_default();
            Ok(durable_files::replace(&self.note, &note)?)
        };
        write(None)?;
        let done = work(&|tip| write(Some(tip)));
        match &done {
            Ok(_) => {
                // Git succeeds even if it can't remove its locks.
                self.break_locks(&locks)?;
                if self.target.conflicts()?.is_empty() {
                    self.forget_next_commit(&note(None));
                }
                self.forget()?;
            }
            // If undoing fails as well, the next merge tries again; the error of this one is reported.
            Err(_) => drop(self.undo()),
        }
        done
    }

    /// A commit with the uncommitted changes of the person, if git can make one.
    fn saved(&self) -> Result<Option<String>> {
        match self.target.stash() {
            // Git can't stash files that `git add --intent-to-add` announced, for example, but merges nevertheless.
            Err(Error { cause: Some(ErrorCause::GitFailed), .. }) => Ok(None),
            saved => saved,
        }
    }

    fn forget(&self) -> Result<()> {
        absent(fs::remove_file(&self.note)).path_context("remove", &self.note)
    }

    /// Removes files whose names begin like this from the git directory.
    fn sweep(&self, begin: &str) -> Result<()> {
        for entry in fs::read_dir(&self.git_dir).path_context("list", &self.git_dir)? {
            let path = entry.path_context("list", &self.git_dir)?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin)) {
                absent(fs::remove_file(&path)).path_context("remove", &path)?;
            }
        }
        Ok(())
    }

    /// Restores the checkout to its state before a merge that was killed or failed. A merge that finished, or stopped at conflicts, stays.
    fn undo(&self) -> Result<()> {
        let text = match regular::read(&self.note, regular::MAX_TEXT) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            text => text.path_context("read", &self.note)?,
        };
        // Ignore an invalid note: uwf did not write it.
        let Ok(note) = serde_json::from_slice::<MergeNote>(&text) else { return self.forget() };
        self.break_locks(&note.locks)?;
        self.sweep(STASHED_INDEX)?;
        if let Some(tip) = &note.tip {
            match self.target.conflicts()?.is_empty() {
                true => self.undo_to(&note, tip)?,
                // Without MERGE_HEAD and SQUASH_MSG, git can't abort the merge.
                false if self.target.merging()?.is_none() && !self.target.squash_lists(tip)? => {
                    self.target.abort_squash()?;
                }
                false => {}
            }
        }
        self.forget()
    }

    /// Removes locks that git has left: those that stay unchanged for longer than a running git needs them.
    fn break_locks(&self, others: &[PathBuf]) -> Result<()> {
        let identity =
            |path: &Path| fs::symlink_metadata(path).ok().map(|meta| (meta.ino(), meta.mtime_nsec(), meta.size()));
        let begun = Instant::now();
        let own = locks_in(&self.git_dir);
        let held: Vec<_> = own.iter().chain(others).filter_map(|path| Some((identity(path)?, path))).collect();
        for (before, path) in held {
            while identity(path) == Some(before) && begun.elapsed() < ORPHAN {
                std::thread::sleep(Duration::from_millis(20));
            }
            if identity(path) == Some(before) {
                absent(fs::remove_file(path)).path_context("remove", path)?;
            }
        }
        Ok(())
    }

    fn undo_to(&self, note: &MergeNote, tip: &str) -> Result<()> {
        let target = self.target;
        let now = target.commit("HEAD")?;
        if now.as_ref() == Some(&note.before) {
            if target.own_changes()? != note.own {
                restore(target, self.top, note, tip)?;
                give_back(target, self.top, note)?;
            }
            self.forget_next_commit(note);
        } else if target.merging()?.is_some_and(|merging| merging == tip) {
            // Git was killed after the commit, before it removed the files of the merge.
            if let Some(now) = now.filter(|_| !target.has_staged().unwrap_or(true))
                && target.is_in(tip, &now)?
            {
                self.forget_next_commit(note);
            }
        } else if target.squash_lists(tip)? && !target.has_staged()? {
            self.forget_next_commit(note);
        }
        Ok(())
    }

    fn forget_next_commit(&self, note: &MergeNote) {
        for name in OF_NEXT_COMMIT.iter().filter(|name| !note.had.iter().any(|had| had == *name)) {
            // A file that can't be removed affects only the next commit.
            let _ = fs::remove_file(self.git_dir.join(name));
        }
    }
}

/// The locks of a working tree.
fn locks_in(git_dir: &Path) -> Vec<PathBuf> {
    LOCKED.iter().map(|name| git_dir.join(format!("{name}.lock"))).collect()
}

fn absent(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Restores the files that a killed merge has changed: missing files, and files with the merged content or a beginning of that content. Any
/// other content is a later change of the person, and stays.
fn restore(target: &GitRunner<'_>, top: &Path, note: &MergeNote, tip: &str) -> Result<()> {
    let meant = target.merged_tree(&note.before, tip)?;
    let (mut back, mut gone) = (Vec::new(), Vec::new());
    for path in target.changed_paths(&note.before, &meant)? {
        if note.own.contains(&path) {
            continue;
        }
        let there = match regular::read(&top.join(&path), regular::MAX_OBJECT) {
            Ok(bytes) => Some(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            // Not a regular file, so the merge did not write it.
            Err(_) => continue,
        };
        let (was, written) = (target.file_at(&note.before, &path)?, target.file_at(&meant, &path)?);
        let is_of_merge = there.as_ref().is_none_or(|there| {
            was.as_ref() == Some(there) || written.as_ref().is_some_and(|written| written.starts_with(there))
        });
        match (is_of_merge, was) {
            (true, Some(_)) => back.push(path),
            (true, None) => gone.push(path),
            (false, _) => {}
        }
    }
    target.restore_paths(&note.before, &back)?;
    target.forget_paths(&gone)?;
    for path in gone {
        remove_with_dirs(top, &top.join(path));
    }
    Ok(())
}

/// Restores changes of the person that git removed: a merge that fails halfway resets all files and applies the changes again, which may
/// fail as well. A file that differs from its commit has a later change, and stays.
fn give_back(target: &GitRunner<'_>, top: &Path, note: &MergeNote) -> Result<()> {
    let Some(saved) = &note.saved else { return Ok(()) };
    let mut lost = Vec::new();
    for path in target.changed_paths(&note.before, saved)? {
        let there = regular::read(&top.join(&path), regular::MAX_OBJECT).ok();
        if there == target.file_at(&note.before, &path)? {
            lost.push(path);
        }
    }
    target.restore_files_of(saved, &lost)
}

/// Removes a file, and directories that become empty.
fn remove_with_dirs(top: &Path, path: &Path) {
    let _ = fs::remove_file(path);
    for dir in path.ancestors().skip(1).take_while(|dir| *dir != top) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
