//! Branches that each have a git worktree: how it begins, and the git branch that has its changes in the end.

use std::path::Path;

use json_cas::NodeHash;
use uwf_core::prompt::GitBranch;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::BranchMerge;

use crate::attempt::git::{GitRunner, SnapshotCommit};
use crate::attempt::recorded::ThreadRecord;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::snapshot::{self, files_ref};
use crate::attempt::worktree::{NewWorktree, branch_of, checkout_of, is_there};
use crate::attempt::{child_threads, travel};
use crate::error::{Error, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::root::project_files;
use crate::root::worktree::Worktree;
use crate::thread::load::Thread;

use super::GroupFiles;
use super::read_only::few;

/// A branch of a group whose changes are on its git branch.
pub(super) struct PublishedBranch {
    /// Its name in the group.
    pub(super) name: String,
    /// Its thread.
    pub(super) thread: ThreadId,
    /// Its git branch.
    pub(super) branch: String,
    /// The commit at which that is.
    pub(super) tip: String,
}

impl GroupFiles<'_> {
    /// The worktree for the thread of a branch, with the files that the group began with; `None` if branches get none.
    pub fn branch_worktree(&self) -> Result<Option<NewWorktree>> {
        if !self.has_worktrees() {
            return Ok(None);
        }
        let Some(start) = self.start()? else { return Ok(None) };
        let Worktree { dir, repository, .. } = &self.worktree;
        let origin = project_files::origin(self.home, dir);
        let from = if origin == *dir { checkout_of(repository) } else { origin };
        let inside = self.worktree.inside(&self.workspace).unwrap_or_default();
        Ok(Some(NewWorktree::of_step(repository.clone(), start, from, inside)))
    }

    /// The git branches of some branches; empty if they have no worktrees. `group` is the thread of the group.
    pub fn git_branches(&self, group: &Thread<'_>, names: &[&str]) -> Result<Vec<GitBranch>> {
        if !self.has_worktrees() {
            return Ok(Vec::new());
        }
        let begun = Thread::load_at(self.home, group.id.clone(), group.start_hash)?;
        let git_branch = |name: &&str| GitBranch {
            name: (*name).to_owned(),
            branch: branch_of(&child_threads::id_for(&begun, name)),
        };
        Ok(names.iter().map(git_branch).collect())
    }

    /// Commits the uncommitted files of the thread on its branch: the common start of the branches. So a merge, of uwf or of a person, finds
    /// no uncommitted changes.
    pub(super) fn commit_start(&self) -> Result<()> {
        if self.merge == BranchMerge::Sequence {
            // The merges would be refused later, when the branches are paid for.
            self.refuse_other_branch()?;
        }
        let git = self.own()?;
        self.refuse_unfinished_merge(&git)?;
        let Some(head) = git.commit("HEAD")? else { return Ok(()) };
        // A repository of its own in there would become a commit without files.
        let again = format!("then `uwf thread retry {}` plays the group", self.thread);
        let tree = self.with_view(&self.worktree, |view| view.all_files().map_err(|error| error.hint(again)))?;
        let to = if self.git().tree_of(&head)? == tree {
            head.clone()
        } else {
            let text = format!("uwf: files before group {}\n\nUwf-Thread: {}\n", self.role, self.thread);
            self.git().commit_tree(&tree, &[&head], &text)?
        };
        // Also when nothing is to be committed: a killed attempt may have left an old index.
        if git.advance(&head, &to)? { Ok(()) } else { Err(self.moved()) }
    }

    /// Git for the branch and the commit of the thread's worktree.
    pub(super) fn own(&self) -> Result<GitRunner<'_>> {
        GitRunner::of_worktree(&self.worktree.repository, &self.worktree.dir)
    }

    pub(super) fn moved(&self) -> Error {
        Error::busy(format!("another process moved the commit of {} meanwhile", self.worktree.dir.display()))
            .hint(format!("`uwf run {}` continues; no branch runs again", self.thread))
    }

    /// Puts the files of each branch on its git branch. Uncommitted files become a commit.
    pub(super) fn publish(&self, group: &Thread<'_>, branches: &[&str]) -> Result<Vec<PublishedBranch>> {
        let mut published = Vec::with_capacity(branches.len());
        let begun = Thread::load_at(self.home, group.id.clone(), group.start_hash)?;
        for name in branches {
            let id = child_threads::id_for(&begun, name);
            self.fetch_files(&id)?;
            let kept = self.kept(name, &id)?;
            let (branch, tip) = (branch_of(&id), self.publish_one(name, &id, &kept)?);
            published.push(PublishedBranch { name: (*name).to_owned(), thread: id, branch, tip });
        }
        Ok(published)
    }

    /// Why git leaves out files of the worktree of a branch, in one line; `None` if it has them all, or if the worktree is gone.
    fn left_out_in(&self, id: &ThreadId) -> Result<Option<String>> {
        let settings = ThreadSettings::load(self.home, id)?;
        let Some(worktree) = settings.and_then(|settings| settings.worktree) else { return Ok(None) };
        if !is_there(&worktree.dir.join(".git"))? {
            return Ok(None);
        }
        Ok(self.files_in(&worktree)?.left_out_line())
    }

    /// Rejects branches with files that would be in no merge: git repositories, whose own files a commit lacks, and other files that git
    /// leaves out. A branch that is merged already has passed, or a person has decided.
    ///
    /// # Errors
    /// `Waiting` if there are any.
    pub(super) fn refuse_left_out(&self, branches: &[PublishedBranch]) -> Result<()> {
        let (git, Some(start)) = (self.own()?, self.start()?) else { return Ok(()) };
        let head = git.commit("HEAD")?;
        for branch in branches {
            // Without a change of its own, a branch is in the commit that the group began with.
            if let Some(head) = &head
                && git.is_in(&branch.tip, head)?
                && !git.is_in(&branch.tip, &start.head)?
            {
                continue;
            }
            let repositories = git.repositories_between(&start.tree, &branch.tip)?;
            if let Some(first) = repositories.first() {
                return Err(self.has_repositories(branch, first, &repositories));
            }
            if let Some(why) = self.left_out_in(&branch.thread)? {
                return Err(self.has_left_out(branch, &why));
            }
        }
        Ok(())
    }

    fn has_left_out(&self, branch: &PublishedBranch, why: &str) -> Error {
        let (name, dir) = (&branch.name, self.home.worktree_dir(&branch.thread));
        let dir = dir.display();
        Error::waiting(format!("git would leave files of branch `{name}` out of the merge: {why}"))
            .hint(format!(
                "remove what git can't add: a `.git` in a directory of {dir}, or files that git may not read; then {}",
                commit_all(&dir)
            ))
            .hint(format!("or to leave the files out: move them elsewhere from {dir}"))
            .hint(self.then_continue())
    }

    fn has_repositories(&self, branch: &PublishedBranch, first: &str, repositories: &[String]) -> Error {
        let (name, paths, dir) = (&branch.name, few(repositories), self.home.worktree_dir(&branch.thread));
        let dir = dir.display();
        let verb = if repositories.len() == 1 { "is a git repository" } else { "are git repositories" };
        Error::waiting(format!(
            "{paths} {verb} in the worktree of branch `{name}`, and git would merge none of the files in it"
        ))
        .hint(format!(
            "to merge the files: remove {dir}/{first}/.git, then `git -C {dir} rm -q --cached {first}` and {}",
            commit_all(&dir)
        ))
        .hint(format!("or to leave them out: move {dir}/{first} elsewhere, then {}", commit_all(&dir)))
        .hint(self.then_continue())
    }

    pub(super) fn then_continue(&self) -> String {
        format!("then `uwf run {}` continues; no branch runs again", self.thread)
    }

    /// Brings the worktree of a branch on this machine up to date, if the branch ended on another machine.
    fn fetch_files(&self, id: &ThreadId) -> Result<()> {
        let (Some(ended), Some(settings)) =
            (history::newest_line(self.home, id)?, ThreadSettings::load(self.home, id)?)
        else {
            return Ok(());
        };
        let remote = self.home.config()?.worktree_remote;
        travel::bring_up_to_date(self.home, id, ended.head, &settings, remote.as_ref()).map(drop)
    }

    /// The recorded files of a branch at its end.
    fn kept(&self, name: &str, id: &ThreadId) -> Result<SnapshotCommit> {
        let Some(ended) = history::newest_line(self.home, id)? else {
            return Err(missing_thread::not_found(self.home, id));
        };
        let repository = &self.worktree.repository;
        files_of_ended(self.home, repository, id, ended.head)?.ok_or_else(|| {
            let (dir, repository) = (self.home.worktree_dir(id), repository.display());
            Error::not_found(format!(
                "the files of branch `{name}`, thread {id}, were not recorded, and its worktree {} is gone",
                dir.display()
            ))
            .hint(format!("`uwf log {id}` says why"))
            .hint(format!(
                "if a commit has them: `git -C {repository} update-ref {} COMMIT`",
                files_ref(id, ended.head)
            ))
            .hint(format!("or play the group again in a fork: `uwf thread fork {}`", self.thread))
        })
    }

    fn publish_one(&self, name: &str, id: &ThreadId, kept: &SnapshotCommit) -> Result<String> {
        let git = self.git();
        let reference = format!("refs/heads/{}", branch_of(id));
        let now = git.commit(&reference)?;
        // Without a commit since the last step, files that differ from the record were deleted, and are restored.
        if let Some(now) = &now
            && git.is_in(&kept.head, now)?
            && (git.tree_of(now)? == kept.tree || (*now != kept.head && self.is_committed_by_hand(id, now)?))
        {
            return Ok(now.clone());
        }
        if let Some(now) = &now
            && !git.is_in(now, &kept.head)?
        {
            let branch = branch_of(id);
            return Err(Error::waiting(format!(
                "{branch}, with the changes of branch `{name}`, has moved since its last step"
            ))
            .hint(format!("commit there all that is to be merged: {}", self.home.worktree_dir(id).display()))
            .hint(format!(
                "or undo the move: `git -C {} branch -f {branch} {}`",
                self.worktree.repository.display(),
                kept.head
            ))
            .hint(format!("then `uwf run {}` continues", self.thread)));
        }
        let tip = if git.tree_of(&kept.head)? == kept.tree {
            kept.head.clone()
        } else {
            let text = format!("uwf: files of branch {name} of group {}\n\nUwf-Thread: {id}\n", self.role);
            git.commit_tree(&kept.tree, &[&kept.head], &text)?
        };
        let dir = self.home.worktree_dir(id);
        match is_there(&dir.join(".git"))? {
            true => GitRunner::of_worktree(&self.worktree.repository, &dir)?.be_on(&branch_of(id), &tip)?,
            false => git.update_ref(&reference, &tip)?,
        }
        Ok(tip)
    }

    /// Whether a person committed on the branch of a thread that has ended, and left nothing uncommitted there.
    fn is_committed_by_hand(&self, id: &ThreadId, tip: &str) -> Result<bool> {
        let Some(worktree) = ThreadSettings::load(self.home, id)?.and_then(|settings| settings.worktree) else {
            return Ok(false);
        };
        if !is_there(&worktree.dir.join(".git"))? {
            return Ok(true);
        }
        Ok(self.tree_in(&worktree)? == self.git().tree_of(tip)?)
    }
}

/// The command that commits all files of a worktree.
fn commit_all(dir: &std::path::Display<'_>) -> String {
    format!("`git -C {dir} add -A && git -C {dir} commit`")
}

/// The files of a branch that has ended with this step. Another branch with the same step may have other files.
pub(super) fn files_of_ended(
    home: &Home,
    repository: &Path,
    id: &ThreadId,
    step: NodeHash,
) -> Result<Option<SnapshotCommit>> {
    let reference = files_ref(id, step);
    let git = GitRunner::for_directory(repository);
    if git.commit(&reference)?.is_none() {
        record_later(home, id, step)?;
    }
    match git.kept(&reference)? {
        Some(kept) => Ok(Some(kept)),
        None => travel::find(home, repository, id, step),
    }
}

/// Records the files of a branch after its end, because git failed at that time, unless its worktree is gone. No other step has used it since.
fn record_later(home: &Home, id: &ThreadId, step: NodeHash) -> Result<()> {
    let Some(settings) = ThreadSettings::load(home, id)? else { return Ok(()) };
    let Some(worktree) = settings.worktree_in_use() else { return Ok(()) };
    let Some(attempt) = ThreadRecord::read(home, id)?.of_step(step) else { return Ok(()) };
    if is_there(&worktree.dir.join(".git"))? {
        snapshot::take(home, worktree, &attempt.opened, step)?;
    }
    Ok(())
}
