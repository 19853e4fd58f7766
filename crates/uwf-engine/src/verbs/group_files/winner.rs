//! The winner of a group of copies: its files become the files of the thread.

use crate::error::{Error, Result};
use crate::thread::load::Thread;

use super::GroupFiles;
use super::branch_worktrees::PublishedBranch;

impl GroupFiles<'_> {
    /// Moves the worktree of the thread forward to the files of one branch, if branches have worktrees. An attempt that finds them there does
    /// nothing. `group` is the thread of the group, which may have ended.
    ///
    /// # Errors
    /// `Waiting` if the worktree has changed since the group began, so that a person must merge the branch; errors of git.
    pub fn take_winner(&self, group: &Thread<'_>, winner: &str) -> Result<()> {
        if !self.has_worktrees() {
            return Ok(());
        }
        let _errand = self.errand();
        let published = self.publish(group, &[winner])?;
        let Some(PublishedBranch { branch, tip, .. }) = published.first() else { return Ok(()) };
        self.refuse_other_branch()?;
        self.refuse_left_out(&published)?;
        self.complete_interrupted()?;
        let git = self.own()?;
        let Some(head) = git.commit("HEAD")? else { return Err(self.moved()) };
        if git.is_in(tip, &head)? {
            return Ok(());
        }
        self.refuse_unfinished_merge(&git)?;
        self.refuse_uncommitted(&head)?;
        if git.is_in(&head, tip)? {
            return self.carry_out(&head, tip);
        }
        let (dir, thread) = (self.worktree.dir.display(), &self.thread);
        Err(Error::waiting(format!(
            "{dir} has commits that were made while the group `{}` was played, so it cannot move to {branch}, the files of its winner `{winner}`",
            self.role
        ))
        .hint(format!("merge them there: `git -C {dir} merge {branch}`"))
        .hint(format!("then `uwf run {thread}` continues")))
    }
}
