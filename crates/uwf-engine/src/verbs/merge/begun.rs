//! A merge into a checkout, noted while it is under way: the next one finds what became of it if it was killed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use durable_files::{FileLock, regular};
use serde::{Deserialize, Serialize};

use crate::attempt::git::Git;
use crate::error::{AtPath, Result, VerbError};

/// How long to wait for another merge into the same checkout.
const OTHERS: Duration = Duration::from_secs(30);

/// How long a git that outlived its merge may hold the index.
const ORPHAN: Duration = Duration::from_secs(3);

/// Locks that a killed git leaves in the git directory of a checkout.
const LOCKS: [&str; 4] = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock", "MERGE_HEAD.lock"];

/// The right to merge into a checkout. Others wait for it.
pub(super) struct Turn {
    note: PathBuf,
    git_dir: PathBuf,
    _lock: FileLock,
}

/// What a merge is about to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    /// The commit that was checked out.
    before: String,
    /// The newest commit of the branch.
    tip: String,
    /// Files with changes of the person, and files that git does not know. A merge touches none of them.
    own: Vec<String>,
}

impl Turn {
    /// Waits for other merges into a checkout, and undoes one that was killed.
    ///
    /// # Errors
    /// `Busy` when another one takes too long; those of git and of files.
    pub(super) fn take(target: &Git<'_>, top: &Path) -> Result<Turn> {
        let git_dir = target.git_dir()?;
        let lock = git_dir.join("uwf-merge.lock");
        let lock = FileLock::acquire(&lock, OTHERS)?.ok_or_else(|| VerbError::OtherMerge(top.to_owned()))?;
        let turn = Turn { note: git_dir.join("uwf-merge"), git_dir, _lock: lock };
        turn.undo(target, top)?;
        Ok(turn)
    }

    /// Runs a merge of the commit `tip`, which must not be killed without leaving a note.
    ///
    /// # Errors
    /// Those of `work`, of git and of files.
    pub(super) fn run<T>(&self, target: &Git<'_>, tip: String, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(before) = target.commit("HEAD")? else { return work() };
        let note = serde_json::to_vec(&Note { before, tip, own: target.own_changes()? }).unwrap_or_default();
        durable_files::replace(&self.note, &note)?;
        let done = work();
        self.forget()?;
        done
    }

    fn forget(&self) -> Result<()> {
        match fs::remove_file(&self.note) {
            Err(error) if error.kind() != ErrorKind::NotFound => Ok(Err(error).at("remove", &self.note)?),
            _ => Ok(()),
        }
    }

    /// Puts a checkout back to how it was before a merge that was killed. One that came to its end, or to conflicts, stays.
    fn undo(&self, target: &Git<'_>, top: &Path) -> Result<()> {
        let text = match regular::read(&self.note, regular::MAX_TEXT) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            text => text.at("read", &self.note)?,
        };
        // A note that is no note was being written: the merge had not begun.
        let Ok(note) = serde_json::from_slice::<Note>(&text) else { return self.forget() };
        self.break_locks(target)?;
        let is_over = target.commit("HEAD")?.as_ref() != Some(&note.before) || !target.conflicts()?.is_empty();
        if !is_over {
            undo(target, top, &note)?;
            for name in ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE"] {
                // Git offers them for the next commit, which has nothing to do with them.
                let _ = fs::remove_file(self.git_dir.join(name));
            }
        }
        self.forget()
    }

    /// Removes the locks of a git that was killed, once it can be no living one's.
    fn break_locks(&self, target: &Git<'_>) -> Result<()> {
        let begun = Instant::now();
        let branch = target.checked_out()?.map(|branch| format!("refs/heads/{branch}.lock"));
        let of_branch = match branch {
            Some(branch) => Some(target.repository()?.join(branch)),
            None => None,
        };
        for path in LOCKS.iter().map(|name| self.git_dir.join(name)).chain(of_branch) {
            while path.exists() && begun.elapsed() < ORPHAN {
                std::thread::sleep(Duration::from_millis(20));
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", &path)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Puts the files that a killed merge has changed back to how they were: those that have what it was to write, or the beginning
/// of it. Whatever else a file has is a later change of the person, and stays.
fn undo(target: &Git<'_>, top: &Path, note: &Note) -> Result<()> {
    let meant = target.merged_tree(&note.before, &note.tip)?;
    let (mut back, mut gone) = (Vec::new(), Vec::new());
    for path in target.changed_paths(&note.before, &meant)? {
        if note.own.contains(&path) {
            continue;
        }
        let there = match regular::read(&top.join(&path), regular::MAX_OBJECT) {
            Ok(bytes) => Some(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            // It is no file, so no file that the merge has written.
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

/// Removes a file, and the directories that are empty without it.
fn remove_with_dirs(top: &Path, path: &Path) {
    let _ = fs::remove_file(path);
    for dir in path.ancestors().skip(1).take_while(|dir| *dir != top) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
