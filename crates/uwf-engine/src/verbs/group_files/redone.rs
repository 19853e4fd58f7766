//! The files of a group in a fork in which one of its branches is played again: it begins with the same files as the group that it was
//! forked from, and the other branches keep their changes.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::git::GitRunner;
use crate::attempt::snapshot::files_ref;
use crate::error::{Error, Result};
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

use super::branch_worktrees::files_of_ended;
use super::{group_ref, worktree_of};

/// Checks that the files that a group began with were recorded. `thread` played the group at the head `before`.
///
/// # Errors
/// `NotFound` if they were not; errors of the thread's record and of git.
pub(crate) fn check(thread: &Thread<'_>, before: NodeHash) -> Result<()> {
    let Some((owner, Worktree { repository, .. }, _)) = worktree_of(thread.home(), &thread.id)? else {
        return Err(not_recorded(&thread.id, "it has no worktree on this machine"));
    };
    match GitRunner::for_directory(&repository).kept(&group_ref("group", &owner, &thread.id, before))? {
        Some(_) => Ok(()),
        None => Err(not_recorded(&thread.id, "the files that the group began with were not recorded")),
    }
}

/// Lets the group of a fork begin with the files that the group of `source` began with. `fork` is at the head where both groups begin.
///
/// # Errors
/// `NotFound` if these files were not recorded; errors of the threads' records and of git.
pub(crate) fn begin_with_files_of(source: &ThreadId, fork: &Thread<'_>) -> Result<()> {
    let (home, head) = (fork.home(), fork.head);
    let Some((owner, Worktree { dir, repository, .. }, _)) = worktree_of(home, &fork.id)? else {
        return Err(not_recorded(source, "the fork has no worktree"));
    };
    let owner_of_source = worktree_of(home, source)?.map_or_else(|| source.clone(), |(owner, ..)| owner);
    let git = GitRunner::for_directory(&repository);
    let Some(start) = git.kept(&group_ref("group", &owner_of_source, source, head))? else {
        return Err(not_recorded(source, "the files that the group began with were not recorded"));
    };
    let own = GitRunner::of_worktree(&repository, &dir)?;
    let now = own.commit("HEAD")?.filter(|now| *now != start.head);
    if let Some(now) = now
        && !own.advance(&now, &start.head)?
    {
        return Err(Error::busy(format!("another process moved the commit of {} meanwhile", dir.display())));
    }
    git.update_ref(&group_ref("group", &owner, &fork.id, head), &start.commit)
}

/// Gives the thread of a branch the recorded files of the branch that it takes over, at its last step.
///
/// # Errors
/// `NotFound` if they were not recorded; errors of git.
pub(crate) fn take_over_files(fork: &Thread<'_>, from: &ThreadId, to: &ThreadId, step: NodeHash) -> Result<()> {
    let Some((_, Worktree { repository, .. }, _)) = worktree_of(fork.home(), &fork.id)? else { return Ok(()) };
    let git = GitRunner::for_directory(&repository);
    let Some(files) = files_of_ended(fork.home(), &repository, from, step)? else {
        return Err(not_recorded(from, "the files of a finished branch were not recorded"));
    };
    git.update_ref(&files_ref(to, step), &files.commit)
}

fn not_recorded(source: &ThreadId, why: &str) -> Error {
    Error::not_found(format!("no branch of thread {source} can be played again alone: {why}"))
}
