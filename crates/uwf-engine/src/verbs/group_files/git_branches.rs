//! The git branches of a group whose branches are not merged, for the prompt of the next role.

use uwf_core::prompt::GitBranch;
use uwf_core::thread::BranchOutput;
use uwf_core::workflow::{BranchFiles, BranchMerge, GROUP_AGENT, RoleGroup};

use crate::attempt::child_threads;
use crate::attempt::worktree::branch_of;
use crate::error::Result;
use crate::root::history;
use crate::thread::load::Thread;
use crate::thread::message;

/// The role and the git branches of the group that a thread's newest step is of. `None` if another role played it, if the group's branches have no
/// worktrees, if they were merged or one was picked, or if this machine does not know the thread of the group.
///
/// # Errors
/// Errors of the nodes and the history.
pub fn of_newest_step(thread: &Thread<'_>) -> Result<Option<(String, Vec<GitBranch>)>> {
    let Some(last) = thread.last.as_ref().filter(|last| last.agent == GROUP_AGENT) else { return Ok(None) };
    let workflow = thread.workflow()?;
    let group = workflow.roles.get(&last.role).and_then(|role| role.more.play.as_ref());
    let is_unmerged = |group: &RoleGroup| {
        group.files == BranchFiles::Worktree && group.merge == BranchMerge::None && group.copies.is_none()
    };
    if !group.is_some_and(is_unmerged) {
        return Ok(None);
    }
    let home = thread.home();
    let before = Thread::load_at(home, thread.id.clone(), last.prev.unwrap_or(last.start))?;
    let own = history::newest_line(home, &child_threads::id_for(&before, &last.role))?;
    // In a fork, the thread that it was forked from played the group.
    let played_before = || history::all(home).map(|all| all.into_iter().rev().find(|line| line.head == last.detail));
    let Some(ended) = own.map_or_else(played_before, |own| Ok(Some(own)))? else { return Ok(None) };
    let id = ended.thread;
    let played = Thread::load_at(home, id.clone(), ended.head)?;
    let begun = Thread::load_at(home, id, played.start_hash)?;
    let mut branches = Vec::new();
    for BranchOutput { name, .. } in
        message::branches(home.store(), ended.head)?.into_iter().filter(|branch| branch.failure().is_none())
    {
        let child = child_threads::id_for(&begun, &name);
        if child_threads::find(home, &child)?.is_some() {
            branches.push(GitBranch { branch: branch_of(&child), name });
        }
    }
    Ok(Some((last.role.clone(), branches)))
}
