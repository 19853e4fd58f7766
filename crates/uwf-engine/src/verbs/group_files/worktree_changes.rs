//! The git repository that a thread works in, for its prompts. For a worktree of the thread: the branch, where it began, and the files that
//! steps changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use uwf_core::prompt::{PromptWorkspace, PromptWorktree, WorkspaceFile, WorkspaceFiles};
use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use crate::attempt::branch_outlook;
use crate::attempt::child_threads;
use crate::attempt::git::GitRunner;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::snapshot;
use crate::error::Result;
use crate::root::project_files;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

use super::worktree_of;

/// The commit that is checked out in a directory; `None` outside of repositories and without a commit, or if git fails.
pub(crate) fn commit_of_directory(dir: &Path) -> Option<String> {
    // Outside of repositories, don't start git.
    if !project_files::is_in_repository(dir) {
        return None;
    }
    GitRunner::for_directory(dir).commit("HEAD").ok().flatten()
}

/// The worktree that a thread works in, with the files at the thread's head; `None` if it works elsewhere. If git
/// fails, the section says so, because the step itself may not need it.
///
/// # Errors
/// The settings of the thread can't be read.
pub fn of_thread(thread: &Thread<'_>) -> Result<Option<PromptWorkspace>> {
    let Some((owner, worktree, _)) = worktree_of(thread.home(), &thread.id)? else { return Ok(None) };
    let branch = worktree.branch.clone();
    let (base, files) = match work_of(thread, &owner, worktree.clone()) {
        Ok(Some(work)) => (
            work.base.clone(),
            work.files().map_or_else(|error| WorkspaceFiles::Unreadable(error.message), WorkspaceFiles::Known),
        ),
        Ok(None) => (worktree.base, WorkspaceFiles::Unrecorded),
        Err(error) => (worktree.base, WorkspaceFiles::Unreadable(error.message)),
    };
    let is_of_branch = owner == thread.id && player(thread)?.is_some();
    Ok(Some(PromptWorkspace::Worktree(PromptWorktree { branch, base, is_of_branch, files })))
}

/// The branch and the commit of the git checkout that contains a directory, and the commit at which the thread began; `None` without a
/// commit, or if git fails. Lists no files, because that takes long in a large repository.
pub fn of_directory(thread: &Thread<'_>, dir: &Path) -> Option<PromptWorkspace> {
    let commit = commit_of_directory(dir)?;
    let git = GitRunner::for_directory(dir);
    let settings = ThreadSettings::load(thread.home(), &thread.id).ok().flatten();
    // The thread may work in another directory than at its start.
    let base =
        settings.and_then(|settings| settings.base).filter(|base| git.commit(base).is_ok_and(|found| found.is_some()));
    Some(PromptWorkspace::Checkout { branch: git.checked_out().ok().flatten(), commit, base })
}

/// The work whose files are in a worktree.
struct RecordedWork {
    repository: PathBuf,
    /// The commit at which it began.
    base: String,
    /// The commit with the files at the thread's head.
    now: String,
    /// The first and the last commit of each thread's steps, the outermost thread first.
    steps: Vec<(String, String)>,
}

impl RecordedWork {
    /// The files that differ from those at the beginning.
    fn files(&self) -> Result<Vec<WorkspaceFile>> {
        let git = GitRunner::for_directory(&self.repository);
        let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (base, last) in &self.steps {
            for change in git.step_changes(base, last)? {
                for path in change.paths {
                    let of_file = roles.entry(path).or_default();
                    if !of_file.contains(&change.role) {
                        of_file.push(change.role.clone());
                    }
                }
            }
        }
        let changed = git.changed_paths(&self.base, &self.now)?;
        let file = |path: String| WorkspaceFile { roles: roles.remove(&path).unwrap_or_default(), path };
        Ok(changed.into_iter().map(file).collect())
    }
}

/// The work in the worktree of `owner`, which is the thread or an ancestor; `None` if the files at the thread's head are not recorded. The
/// worktree of a branch began with the files of the thread that plays its group, so the steps of that thread count.
fn work_of(thread: &Thread<'_>, owner: &ThreadId, worktree: Worktree) -> Result<Option<RecordedWork>> {
    let Some(now) = recorded_files(thread, owner, &worktree)? else { return Ok(None) };
    let mut work = RecordedWork {
        repository: worktree.repository,
        steps: vec![(worktree.base.clone(), now.clone())],
        base: worktree.base,
        now,
    };
    let mut above = if *owner == thread.id { player(thread)? } else { None };
    for _ in 0..MAX_GENERATIONS {
        let Some(player_thread) = above else { break };
        let Some((owner, worktree, _)) = worktree_of(player_thread.home(), &player_thread.id)? else { break };
        let Some(then) = recorded_files(&player_thread, &owner, &worktree)? else { break };
        work.steps.insert(0, (worktree.base.clone(), then));
        work.base = worktree.base;
        above = if owner == player_thread.id { player(&player_thread)? } else { None };
    }
    Ok(Some(work))
}

/// The commit with the files at a thread's head. A thread without steps in the worktree of `owner` has the files that `owner` had then.
fn recorded_files(thread: &Thread<'_>, owner: &ThreadId, worktree: &Worktree) -> Result<Option<String>> {
    let found = snapshot::find(&worktree.repository, Some(&thread.id), thread.head)?;
    if found.is_some() || *owner == thread.id {
        return Ok(found.map(|found| found.commit));
    }
    let Some(head) = head_of(thread, owner)? else { return Ok(None) };
    Ok(snapshot::find(&worktree.repository, Some(owner), head)?.map(|found| found.commit))
}

/// The head of an ancestor at which a thread began.
fn head_of(thread: &Thread<'_>, ancestor: &ThreadId) -> Result<Option<NodeHash>> {
    let home = thread.home();
    let (mut id, mut began_at) = (thread.id.clone(), thread.start.parent);
    for _ in 0..child_threads::MAX_ANCESTORS {
        let (Some(head), Some(parent)) = (began_at, ThreadSettings::load(home, &id)?.and_then(|own| own.parent)) else {
            return Ok(None);
        };
        if parent == *ancestor {
            return Ok(Some(head));
        }
        began_at = Thread::load_at(home, parent.clone(), head)?.start.parent;
        id = parent;
    }
    Ok(None)
}

/// For a branch, the thread that plays its group, at the head where the group began.
fn player<'h>(branch: &Thread<'h>) -> Result<Option<Thread<'h>>> {
    Ok(branch_outlook::above_group(branch)?.map(|(player, _)| player))
}
