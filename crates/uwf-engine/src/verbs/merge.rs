//! `thread merge`: merges the work of a thread into the branch that the person has checked out.

mod begun;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;
use uwf_core::text;
use uwf_core::thread::ThreadId;

use crate::attempt::agent_process::SignalListener;
use crate::attempt::ended::stopped;
use crate::attempt::git::{CommitSigning, GitCheckout, GitMergeOutcome, GitRunner, no_commit, own_dir};
pub use crate::attempt::git::{MergeKind, MergeMethod};
use crate::attempt::settings::ThreadSettings;
use crate::attempt::{travel, worktree};
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;
use crate::verbs::rm::worktrees;

use self::begun::MergeLock;

/// Characters of the task in the first line of a commit's message.
const SUBJECT: usize = 60;

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its branch.
    pub branch: String,
    /// The branch that received it; absent when a bare commit is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// How it was merged.
    pub how: MergeKind,
    /// The commit that is checked out now.
    pub commit: String,
    /// Number of uncommitted changes in the worktree that were committed on the thread's branch first.
    pub committed: usize,
    /// Why a new commit is not signed, although the repository asks for signed commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<&'static str>,
}

/// See [`MergeReport::unsigned`].
const UNSIGNED: &str = "the commit is not signed: uwf ignores `commit.gpgsign`, key and program in the configuration of the repository, \
                        because an agent may have changed them. To sign, set yours: git config --global user.signingkey KEY, and \
                        `commit.gpgsign true` for all repositories or by `includeIf` for this one (`uwf help isolating`)";

/// Merges the branch of a thread into the branch that is checked out at `cwd`. Uncommitted changes in the thread's worktree are committed
/// on its branch first. After any error, that commit stays, and everything else is unchanged.
///
/// # Errors
/// `Busy` while the thread is stepped, another thread is merged into that checkout, or another machine has files of the thread that can't
/// be fetched. `Usage` when the thread has no worktree or `cwd` is in another repository. `Waiting` when there are conflicts to resolve.
/// Errors of git, for example if changes in the working tree would be overwritten.
pub fn merge(home: &Home, id: &ThreadId, manner: MergeMethod, cwd: &Path) -> Result<MergeReport> {
    let thread = Thread::any(home, id)?;
    // These checks don't need the lock.
    if let Some(known) = ThreadSettings::load(home, id)? {
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
    let target = GitRunner::for_directory(&here.top).asking();
    let signing = target.signing_of_person()?;
    let target = target.signing(&signing);
    let turn = MergeLock::take(&target, &here.top)?;
    let own = format!("refs/heads/{branch}");
    check_mergeable(id, &target, &here, branch, manner)?;
    let subject = text::ellipsize(&text::one_line(&thread.start.prompt), SUBJECT).to_string();
    let message = match manner {
        MergeMethod::Squash => format!("{subject}\n\nUwf-Thread: {id}\n"),
        _ => format!("Merge {branch}: {subject}\n"),
    };
    // Ctrl-C goes to git, and `turn` undoes everything that git leaves half done.
    let signals = SignalListener::listen()?;
    let has_files = worktree::is_there(dir)?;
    let own_dir = if has_files { own_dir(&worktree.repository, dir).ok() } else { None };
    let done = turn.run(branch, own_dir, |merges| {
        let committed = if has_files { commit(id, &worktree, &subject, &signing)? } else { 0 };
        merges(target.commit(&own)?.unwrap_or_default())?;
        Ok((committed, target.bring_in(branch, manner, &message)?))
    });
    let (committed, brought) = done.map_err(|error| interrupted(&signals, error))?;
    let how = match brought {
        GitMergeOutcome::In(how) => how,
        GitMergeOutcome::Conflicts(files) => {
            return Err(conflicts(id, branch, &here.top, &files));
        }
    };
    let commit = target.commit("HEAD")?.ok_or_else(|| no_commit(&here.top))?;
    let has_commit = committed > 0 || matches!(how, MergeKind::Merge | MergeKind::Squash);
    let unsigned = (signing.is_ignored && has_commit).then_some(UNSIGNED);
    let into = target.checked_out()?;
    Ok(MergeReport { thread: id.clone(), branch: branch.clone(), into, how, commit, committed, unsigned })
}

/// Fails if the branch is gone, or if the checkout has unfinished changes.
fn check_mergeable(
    id: &ThreadId,
    target: &GitRunner<'_>,
    here: &GitCheckout,
    branch: &str,
    manner: MergeMethod,
) -> Result<()> {
    let top = here.top.display();
    if target.commit(&format!("refs/heads/{branch}"))?.is_none() {
        return Err(Error::not_found(format!("branch {branch} of thread {id} is gone"))
            .hint(format!(
                "`uwf thread steps {id}` lists the steps; the files of each are a commit below refs/uwf/{id}"
            ))
            .hint(format!("restore the branch: git branch {branch} COMMIT")));
    }
    if target.merging()?.is_some() || !target.conflicts()?.is_empty() {
        return Err(Error::usage(format!("a merge is under way in {top}"))
            .hint("conclude it: `git commit`, once its conflicts are resolved and added")
            .hint(format!("or go back to before it: `uwf thread merge {id} --abort`")));
    }
    if manner == MergeMethod::Squash && target.has_staged()? {
        return Err(Error::usage(format!("there are staged changes in {top}, which would become part of the commit"))
            .hint("commit them, or unstage them: `git restore --staged .`"));
    }
    Ok(())
}

fn conflicts(id: &ThreadId, branch: &str, top: &Path, files: &[String]) -> Error {
    let (top, files) = (top.display(), files.join(", "));
    Error::waiting(format!("{branch} has conflicts with the branch checked out in {top}: {files}"))
        .hint("resolve them there, then `git add` these files and `git commit`")
        .hint(format!("or go back to before the merge: `uwf thread merge {id} --abort`"))
}

/// The error of a merge, or the signal that ended it.
fn interrupted(signals: &SignalListener, error: Error) -> Error {
    signals.stop().map_or(error, stopped)
}

/// Undoes a merge of the thread's branch that has conflicts.
///
/// # Errors
/// `Usage` when no such merge is under way.
pub fn abort(home: &Home, id: &ThreadId, cwd: &Path) -> Result<()> {
    let (Worktree { branch, .. }, here) = places(id, ThreadSettings::load(home, id)?.as_ref(), cwd)?;
    let target = GitRunner::for_directory(&here.top);
    let tip = target.commit(&branch)?;
    match target.merging()? {
        Some(merging) if Some(&merging) == tip.as_ref() => Ok(target.abort_merge()?),
        None if tip.as_deref().map_or(Ok(false), |tip| target.squashing(tip))? => Ok(target.abort_squash()?),
        _ => Err(Error::usage(format!("no merge of {branch} is under way in {}", here.top.display()))
            .hint("`git status` shows what is under way there")),
    }
}

/// The worktree of a thread, and the working tree at `cwd`, which must belong to the same repository.
fn places(id: &ThreadId, settings: Option<&ThreadSettings>, cwd: &Path) -> Result<(Worktree, GitCheckout)> {
    let worktree = settings.and_then(|settings| settings.worktree.clone());
    let worktree = worktree.ok_or_else(|| worktrees::without_worktree(id))?;
    if !worktree::is_there(&worktree.repository)? {
        let Worktree { repository, branch, .. } = worktree;
        return Err(Error::not_found(format!("the git repository {} of thread {id} is gone", repository.display()))
            .hint(format!("if it was moved, run this in its new directory: git merge {branch}"))
            .hint("or move it back"));
    }
    let elsewhere = |here: &Path| {
        let (here, repository) = (here.display(), worktree.repository.display());
        Error::usage(format!(
            "{here} is in no working tree of the git repository {repository}, to which thread {id} belongs"
        ))
        .hint("run this in a checkout of that repository, on the branch to merge into")
    };
    let here = match GitCheckout::containing_directory(cwd) {
        Err(Error { cause: Some(ErrorCause::NoWorkingTree), .. }) => return Err(elsewhere(cwd)),
        here => here?,
    };
    if !is_same(&here.repository, &worktree.repository)? {
        return Err(elsewhere(&here.top));
    }
    if is_same(&here.top, &worktree.dir)? {
        return Err(Error::usage(format!("this is the worktree of thread {id} itself"))
            .hint(format!("run this on the branch that should receive {}", worktree.branch)));
    }
    Ok((worktree, here))
}

/// Whether two paths are the same directory; a missing one equals no other.
fn is_same(one: &Path, other: &Path) -> Result<bool> {
    let real = |path: &Path| match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some).path_context("look at", path),
    };
    Ok(match (real(one)?, real(other)?) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    })
}

/// Commits the uncommitted changes of a thread's worktree on its branch. Returns their number.
fn commit(id: &ThreadId, worktree: &Worktree, subject: &str, signing: &CommitSigning) -> Result<usize> {
    let Worktree { dir, branch, repository, .. } = worktree;
    let git = GitRunner::of_worktree(repository, dir)?;
    let found = git.checked_out()?;
    if found.as_ref() != Some(branch) {
        let found = found.map_or_else(|| "a bare commit".to_owned(), |found| format!("the branch {found}"));
        return Err(Error::usage(format!("{} has {found} checked out, not {branch}", dir.display()))
            .hint("check it out there, or merge it yourself"));
    }
    let files = git.conflicts()?;
    if !files.is_empty() {
        let (dir, files) = (dir.display(), files.join(", "));
        return Err(Error::usage(format!("{dir} has conflicts that are not resolved: {files}"))
            .hint("resolve them there first, and `git add` the files"));
    }
    let scratch = tempfile::tempdir().path_context("create a directory in", std::env::temp_dir())?;
    let view = GitRunner::view(repository, dir, &scratch.path().join("view"))?;
    let count = view.uncommitted()?;
    if count > 0 {
        let git = git.asking().signing(signing);
        git.commit_on_branch(&view.all_files()?, &format!("{subject}\n\nUwf-Thread: {id}\n"))?;
    }
    Ok(count)
}
