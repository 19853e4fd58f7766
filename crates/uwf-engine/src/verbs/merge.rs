//! `thread merge`: what a thread did in its worktree, brought into the branch that is checked out where a person stands.

mod begun;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;
use uwf_core::text;
use uwf_core::thread::ThreadId;

use crate::attempt::agent_process::Signals;
use crate::attempt::error::AttemptError;
use crate::attempt::git::{Brought, Checkout, Git, GitError, Signing, own_dir};
pub use crate::attempt::git::{How, Manner};
use crate::attempt::settings::Settings;
use crate::attempt::travel;
use crate::attempt::worktree;
use crate::error::{AtPath, Error, Result, VerbError};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

use self::begun::Turn;

/// Characters of the task in the first line of a commit's message.
const SUBJECT: usize = 60;

/// What was brought in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// The thread.
    pub thread: ThreadId,
    /// Its branch.
    pub branch: String,
    /// The branch it is in now; absent when a bare commit is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// How it was brought in.
    pub how: How,
    /// The commit that is checked out now.
    pub commit: String,
    /// How many uncommitted changes of the worktree were committed on the thread's branch first.
    pub committed: usize,
}

/// Brings the branch of a thread into the one that is checked out where `cwd` is. What is uncommitted in the thread's worktree is
/// committed on its branch first. Whatever fails, that commit stays, and so does everything else.
///
/// # Errors
/// `Busy` while the thread is stepped, another thread is merged into that checkout, or another machine has files of it that do not
/// come here, `Usage` when it has no worktree or `cwd` is in another repository, `Waiting` when there are
/// conflicts to resolve, those of git: a working tree with changes that would be overwritten, for instance.
pub fn merge(home: &Home, id: &ThreadId, manner: Manner, cwd: &Path) -> Result<Merged> {
    let thread = Thread::any(home, id)?;
    // These checks don't need the lock.
    if let Some(known) = Settings::load(home, id)? {
        places(id, Some(&known), cwd)?;
    }
    // No agent may change the worktree while it is committed.
    let _lock = lock::take(home, id)?;
    let settings = travel::fetch_if_unknown(home, id, thread.head, cwd)?;
    let (worktree, here) = places(id, settings.as_ref(), cwd)?;
    let Worktree { dir, branch, .. } = &worktree;
    // Another machine may have continued the thread.
    if let Some(settings) = &settings {
        let remote = home.config()?.worktree_remote;
        travel::bring_up_to_date(home, id, thread.head, settings, remote.as_ref())?;
    }
    let target = Git::at(&here.top).asking();
    let signing = target.signing_of_person()?;
    let target = target.signing(&signing);
    let turn = Turn::take(&target, &here.top)?;
    let own = format!("refs/heads/{branch}");
    if target.commit(&own)?.is_none() {
        return Err(VerbError::BranchGone { thread: id.clone(), branch: branch.clone() }.into());
    }
    if target.merging()?.is_some() || !target.conflicts()?.is_empty() {
        return Err(VerbError::MergeUnderWay { thread: id.clone(), top: here.top.clone() }.into());
    }
    if manner == Manner::Squash && target.has_staged()? {
        return Err(VerbError::Staged(here.top.clone()).into());
    }
    let subject = text::ellipsize(&text::one_line(&thread.start.prompt), SUBJECT).to_string();
    let message = match manner {
        Manner::Squash => format!("{subject}\n\nUwf-Thread: {id}\n"),
        _ => format!("Merge {branch}: {subject}\n"),
    };
    // Ctrl-C is for git, and what it leaves half done is put back.
    let signals = Signals::listen()?;
    let has_files = worktree::is_there(dir)?;
    let own_dir = if has_files { own_dir(&worktree.repository, dir).ok() } else { None };
    let done = turn.run(branch, own_dir, |merges| {
        let committed = if has_files { commit(id, &worktree, &subject, &signing)? } else { 0 };
        merges(target.commit(&own)?.unwrap_or_default())?;
        Ok((committed, target.bring_in(branch, manner, &message)?))
    });
    let (committed, brought) = done.map_err(|error| interrupted(&signals, error))?;
    let how = match brought {
        Brought::In(how) => how,
        Brought::Conflicts(files) => {
            return Err(
                VerbError::Conflicts { thread: id.clone(), branch: branch.clone(), files, top: here.top }.into()
            );
        }
    };
    let commit = target.commit("HEAD")?.ok_or_else(|| GitError::NoCommit(here.top.clone()))?;
    Ok(Merged { thread: id.clone(), branch: branch.clone(), into: target.checked_out()?, how, commit, committed })
}

/// What a merge failed for: the signal, if one ended it.
fn interrupted(signals: &Signals, error: Error) -> Error {
    signals.stop().map_or(error, |signal| AttemptError::Stopped { signal }.into())
}

/// Puts everything back to how it was before a merge of the thread's branch that has conflicts.
///
/// # Errors
/// `Usage` when no such merge is under way.
pub fn abort(home: &Home, id: &ThreadId, cwd: &Path) -> Result<()> {
    let (Worktree { branch, .. }, here) = places(id, Settings::load(home, id)?.as_ref(), cwd)?;
    let target = Git::at(&here.top);
    let tip = target.commit(&branch)?;
    match target.merging()? {
        Some(merging) if Some(&merging) == tip.as_ref() => Ok(target.abort_merge()?),
        None if tip.as_deref().map_or(Ok(false), |tip| target.squashing(tip))? => Ok(target.abort_squash()?),
        _ => Err(VerbError::NothingToAbort { branch, top: here.top }.into()),
    }
}

/// The worktree of a thread, and the working tree that a directory is in, of the same repository.
fn places(id: &ThreadId, settings: Option<&Settings>, cwd: &Path) -> Result<(Worktree, Checkout)> {
    let worktree = settings.and_then(|settings| settings.worktree.clone());
    let worktree = worktree.ok_or_else(|| VerbError::WithoutWorktree(id.clone()))?;
    if !worktree::is_there(&worktree.repository)? {
        let Worktree { repository, branch, .. } = worktree;
        return Err(VerbError::RepositoryGone { thread: id.clone(), repository, branch }.into());
    }
    let elsewhere = |here: &Path| VerbError::OtherRepository {
        thread: id.clone(),
        repository: worktree.repository.clone(),
        here: here.to_owned(),
    };
    let here = match Checkout::of(cwd) {
        Err(GitError::NoRepository(_) | GitError::NoWorkTree(_)) => return Err(elsewhere(cwd).into()),
        here => here?,
    };
    if !is_same(&here.repository, &worktree.repository)? {
        return Err(elsewhere(&here.top).into());
    }
    if is_same(&here.top, &worktree.dir)? {
        return Err(VerbError::InItsWorktree { thread: id.clone(), branch: worktree.branch }.into());
    }
    Ok((worktree, here))
}

/// Whether two paths lead to the same directory; one that is gone is no other's.
fn is_same(one: &Path, other: &Path) -> Result<bool> {
    let real = |path: &Path| match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some).at("look at", path),
    };
    Ok(match (real(one)?, real(other)?) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    })
}

/// Commits what is uncommitted in a thread's worktree, on its branch: how many changes.
fn commit(id: &ThreadId, worktree: &Worktree, subject: &str, signing: &Signing) -> Result<usize> {
    let Worktree { dir, branch, repository, .. } = worktree;
    let git = Git::of_worktree(repository, dir)?;
    let found = git.checked_out()?;
    if found.as_ref() != Some(branch) {
        let (dir, branch) = (dir.clone(), branch.clone());
        return Err(VerbError::OtherBranch { dir, branch, found }.into());
    }
    let files = git.conflicts()?;
    if !files.is_empty() {
        return Err(VerbError::UnresolvedThere { dir: dir.clone(), files }.into());
    }
    let scratch = tempfile::tempdir().at("create a directory in", std::env::temp_dir())?;
    let view = Git::view(repository, dir, &scratch.path().join("view"))?;
    let count = view.uncommitted()?;
    if count > 0 {
        let git = git.asking().signing(signing);
        git.commit_on_branch(&view.all_files()?, &format!("{subject}\n\nUwf-Thread: {id}\n"))?;
    }
    Ok(count)
}
