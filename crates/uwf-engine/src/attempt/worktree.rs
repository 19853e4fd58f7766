//! The git worktree that a thread has of its own: a directory below the storage root, on the branch `uwf/<id>`.
//!
//! The settings of a thread name its worktree before there is one, so whoever is killed while it is made leaves a record from
//! which [`discard`] finds everything that is to be cleared away.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use durable_files::regular;
use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::error::{AttemptError, Result};
use crate::attempt::git::{Checkout, Git};
use crate::attempt::settings::{self, Settings};
use crate::root::error::AtPath;
use crate::root::home::Home;
use crate::root::project_files;
use crate::root::worktree::Worktree;

/// A worktree that is to be made for a thread that is about to begin.
pub(crate) struct NewWorktree {
    from: Checkout,
}

impl NewWorktree {
    /// One from the repository that a directory is in, as its checked out commit has it.
    ///
    /// # Errors
    /// Those of git: no repository, no commit.
    pub(crate) fn from_dir(dir: &Path) -> Result<NewWorktree> {
        Ok(NewWorktree { from: Checkout::of(dir)? })
    }

    /// What a person should know who expects to find everything in it.
    pub(crate) fn left_behind(&self) -> Option<String> {
        // It is no more than a note.
        let count = self.from.uncommitted().unwrap_or_default();
        let what =
            if count == 1 { "1 uncommitted change is".to_owned() } else { format!("{count} uncommitted changes are") };
        let (top, commit) = (self.from.top.display(), short(&self.from.commit));
        (count > 0).then(|| format!("{what} not in the worktree: it begins at commit {commit} of {top}"))
    }

    /// What the settings of a thread say of it, and the directory in it that is the workspace.
    pub(crate) fn of(&self, home: &Home, thread: &ThreadId) -> Result<(Worktree, PathBuf)> {
        let dir = home.worktree_dir(thread);
        let Checkout { inside, repository, commit, .. } = &self.from;
        // What git prints of a directory ends with a slash.
        let workspace = settings::as_text(dir.join(inside).components().collect())?;
        let (branch, base) = (branch_of(thread), commit.clone());
        Ok((Worktree { dir, branch, base, repository: repository.clone() }, workspace))
    }

    /// Makes it. `at` is the head that the thread begins at.
    ///
    /// # Errors
    /// `Io`, those of git.
    pub(crate) fn make(&self, home: &Home, thread: &ThreadId, at: Hash, workspace: &Path) -> Result<()> {
        let dirs = home.worktrees_dir();
        fs::create_dir_all(&dirs).at("create", &dirs)?;
        let origin = home.worktree_origin(thread);
        let top = project_files::origin(home, &self.from.top);
        regular::write(&origin, top.as_os_str().as_bytes()).at("write", &origin)?;
        let (dir, git) = (home.worktree_dir(thread), Git::at(&self.from.top));
        git.add_worktree(&dir, &branch_of(thread), &self.from.commit)?;
        git.update_ref(&files_ref(thread, at), &self.from.commit)?;
        // Of a directory that no commit has there is nothing in it.
        Ok(fs::create_dir_all(workspace).at("create", workspace)?)
    }
}

/// Refuses a thread whose worktree is gone: nobody is to be paid for work in the wrong place.
///
/// # Errors
/// `NotFound`.
pub(crate) fn check(thread: &ThreadId, settings: &Settings) -> Result<()> {
    match settings.worktree_in_use() {
        Some(worktree) if !worktree.dir.join(".git").exists() => {
            Err(AttemptError::NoWorktree { thread: thread.clone(), worktree: Box::new(worktree.clone()) })
        }
        _ => Ok(()),
    }
}

/// Takes away the worktree of a thread with all that is in it, its branch, and what was recorded of its files. Whatever of
/// it is there no more, or was never made, is no error.
///
/// # Errors
/// `Io`, those of git.
pub(crate) fn discard(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let Worktree { branch, repository, .. } = worktree;
    remove(home, thread, worktree)?;
    if repository.exists() {
        let git = Git::at(repository);
        git.delete_refs(&format!("refs/heads/{branch}"))?;
        git.delete_refs(&files_refs(thread))?;
    }
    Ok(())
}

/// Takes away the directory of a worktree, whatever is in it; its branch stays.
fn remove(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let Worktree { dir, repository, .. } = worktree;
    gone(fs::remove_dir_all(dir)).at("remove", dir)?;
    if repository.exists() {
        Git::at(repository).forget_worktree(repository, dir)?;
    }
    let origin = home.worktree_origin(thread);
    Ok(gone(fs::remove_file(&origin)).at("remove", &origin)?)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The branch of a thread's worktree.
fn branch_of(thread: &ThreadId) -> String {
    format!("uwf/{thread}")
}

/// Where the repository has the files of a thread at a node: a ref keeps them from git's own collection of garbage.
fn files_ref(thread: &ThreadId, node: Hash) -> String {
    format!("{}/{node}", files_refs(thread))
}

fn files_refs(thread: &ThreadId) -> String {
    format!("refs/uwf/{thread}")
}

/// The beginning of a commit's name, as people write it.
fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
