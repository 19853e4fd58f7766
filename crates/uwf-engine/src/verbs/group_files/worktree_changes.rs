//! The git repository that a thread works in, for its prompts. For a worktree of the thread: the branch, where it began, and the files that
//! steps changed.

use std::collections::BTreeMap;
use std::path::Path;

use uwf_core::prompt::{PromptWorkspace, PromptWorktree, WorkspaceFile, WorkspaceFiles};

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
    let Some((_, worktree, _)) = worktree_of(thread.home(), &thread.id)? else { return Ok(None) };
    let files = match changed_files(thread, &worktree) {
        Ok(Some(files)) => WorkspaceFiles::Known(files),
        Ok(None) => WorkspaceFiles::Unrecorded,
        Err(error) => WorkspaceFiles::Unreadable(error.message),
    };
    Ok(Some(PromptWorkspace::Worktree(PromptWorktree { branch: worktree.branch, base: worktree.base, files })))
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

/// The files that differ from those at the beginning; `None` if the files at the thread's head are not recorded.
fn changed_files(thread: &Thread<'_>, worktree: &Worktree) -> Result<Option<Vec<WorkspaceFile>>> {
    let Some(now) = snapshot::find(&worktree.repository, Some(&thread.id), thread.head)? else { return Ok(None) };
    let git = GitRunner::for_directory(&worktree.repository);
    let mut roles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for change in git.step_changes(&worktree.base, &now.commit)? {
        for path in change.paths {
            let of_file = roles.entry(path).or_default();
            if !of_file.contains(&change.role) {
                of_file.push(change.role.clone());
            }
        }
    }
    let changed = git.changed_paths(&worktree.base, &now.commit)?;
    let file = |path: String| WorkspaceFile { roles: roles.remove(&path).unwrap_or_default(), path };
    Ok(Some(changed.into_iter().map(file).collect()))
}
