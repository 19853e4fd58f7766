//! The git branches of a group whose branches are not merged, for the prompt of the next role.

use uwf_core::node::StepNode;
use uwf_core::prompt::GitBranch;
use uwf_core::thread::{BranchOutput, ThreadId};
use uwf_core::workflow::{BranchFiles, BranchMerge, GROUP_AGENT, RoleGroup};

use crate::attempt::child_threads;
use crate::attempt::git::GitRunner;
use crate::attempt::worktree::branch_of;
use crate::error::Result;
use crate::root::history::{self, HistoryLine};
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;
use crate::thread::message;

use super::worktree_of;

/// The role and the git branches of the group that a thread's newest step is of. `None` if another role played it, if the group's branches have no
/// worktrees, if they were merged or one was picked, or if this machine does not know the thread of the group.
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
    let Some(ended) = ended_group(thread, last)? else { return Ok(None) };
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

/// The end of the thread of the group that a step is of. In a fork, the thread that it was forked from played the group; the ref with the
/// files that the group began with names that thread.
fn ended_group(thread: &Thread<'_>, step: &StepNode) -> Result<Option<HistoryLine>> {
    let (home, before) = (thread.home(), step.prev.unwrap_or(step.start));
    let ended_in = |player: ThreadId| -> Result<Option<HistoryLine>> {
        let player = Thread::load_at(home, player, before)?;
        let ended = history::newest_line(home, &child_threads::id_for(&player, &step.role))?;
        Ok(ended.filter(|ended| ended.head == step.detail))
    };
    if let Some(own) = ended_in(thread.id.clone())? {
        return Ok(Some(own));
    }
    let Some((_, Worktree { repository, .. }, _)) = worktree_of(home, &thread.id)? else { return Ok(None) };
    let refs = GitRunner::for_directory(&repository).refs(&format!("refs/uwf/*/group-*-{before}"))?;
    let player = |name: &str| {
        let name = name.rsplit('/').next()?.strip_prefix("group-")?;
        name.strip_suffix(&format!("-{before}"))?.parse::<ThreadId>().ok()
    };
    for player in refs.iter().filter_map(|(name, _)| player(name)) {
        if let Some(ended) = ended_in(player)? {
            return Ok(Some(ended));
        }
    }
    Ok(None)
}
