//! `merge: sequence`: the changes of the branches come into the thread's worktree, one branch after the other.
//!
//! Each merge is probed without touching a file. Only a merge without conflicts is carried out: a ref names its commit first, then the files
//! follow, then the branch of the worktree moves. So an attempt that is killed in between is completed by the next one.

use crate::attempt::git::{GitRunner, MergeProbe};
use crate::attempt::snapshot;
use crate::error::{Error, Result};

use super::GroupFiles;
use super::branch_worktrees::PublishedBranch;
use super::read_only::few;

/// The ref that names the commit to which the worktree is being moved.
const MERGING: &str = "merging";

/// A branch whose changes have conflicts with the files of the thread.
pub struct MergeConflict {
    /// Its name in the group.
    pub branch: String,
    /// The git branch with its changes.
    pub git_branch: String,
    /// The files with conflicts.
    pub files: Vec<String>,
}

impl GroupFiles<'_> {
    /// Merges the branches in their order. A merged branch is an ancestor of the commit that is checked out, so each attempt continues after
    /// the last one.
    pub(super) fn merge_all(
        &self,
        branches: &[PublishedBranch],
        resolve: &mut dyn FnMut(&MergeConflict) -> Result<bool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        self.complete_interrupted()?;
        for (position, branch) in branches.iter().enumerate() {
            let git = self.own()?;
            let Some(head) = git.commit("HEAD")? else { return Err(self.moved()) };
            if git.is_in(&branch.tip, &head)? {
                continue;
            }
            self.refuse_unfinished_merge(&git)?;
            self.refuse_uncommitted(&head)?;
            match self.probe(&head, &branch.tip)? {
                MergeProbe::Clean(tree) => {
                    let text = format!(
                        "Merge {}: branch {} of group {}\n\nUwf-Thread: {}\n",
                        branch.branch, branch.name, self.role, self.thread
                    );
                    let commit = self.git().commit_tree(&tree, &[&head, &branch.tip], &text)?;
                    self.carry_out(&head, &commit)?;
                    say(&format!("merged branch {} ({})", branch.name, branch.branch));
                }
                MergeProbe::Conflicts(files) => {
                    let (name, git_branch) = (branch.name.clone(), branch.branch.clone());
                    let conflict = MergeConflict { branch: name, git_branch, files };
                    if !resolve(&conflict)? || !self.is_resolved(&branch.tip)? {
                        return Err(self.conflict(branches, position, &conflict.files));
                    }
                    say(&format!("the conflicts of branch {} ({}) are resolved", branch.name, branch.branch));
                }
            }
        }
        Ok(())
    }

    /// Whether a role has merged a commit into the worktree.
    fn is_resolved(&self, tip: &str) -> Result<bool> {
        let git = self.own()?;
        self.refuse_unfinished_merge(&git)?;
        let Some(head) = git.commit("HEAD")? else { return Err(self.moved()) };
        git.is_in(tip, &head)
    }

    /// Merges a commit into another one, without changing a file or a ref.
    fn probe(&self, head: &str, tip: &str) -> Result<MergeProbe> {
        self.with_view(&self.worktree, |view| view.probe_merge(head, tip))
    }

    /// Sets the files of the worktree and its branch to a commit that follows `head`.
    pub(super) fn carry_out(&self, head: &str, commit: &str) -> Result<()> {
        self.git().update_ref(&self.name(MERGING), commit)?;
        self.with_view(&self.worktree, |view| view.restore_files(&self.git().tree_of(commit)?))?;
        if !self.own()?.advance(head, commit)? {
            return Err(self.moved());
        }
        self.git().delete(&[self.name(MERGING)])
    }

    /// Completes the merge that a killed attempt left, unless the commit has moved since.
    pub(super) fn complete_interrupted(&self) -> Result<()> {
        let name = self.name(MERGING);
        let Some(commit) = self.git().commit(&name)? else { return Ok(()) };
        let own = self.own()?;
        let Some(head) = own.commit("HEAD")? else { return Ok(()) };
        if head == commit || !own.is_in(&head, &commit)? {
            if head == commit {
                // The index may still be of the commit before.
                own.advance(&head, &commit)?;
            }
            return self.git().delete(&[name]);
        }
        // Whatever is there besides the files of both commits is kept.
        let tree = self.tree()?;
        let title = format!("uwf: worktree of thread {} before an interrupted merge was completed", self.owner);
        let kept = self.record(&tree, None, &title)?;
        self.git().update_ref(&snapshot::replaced_ref(&self.owner, self.head), &kept)?;
        self.carry_out(&head, &commit)
    }

    /// Rejects a worktree in which a person is merging.
    pub(super) fn refuse_unfinished_merge(&self, git: &GitRunner<'_>) -> Result<()> {
        let conflicts = git.conflicts()?;
        if git.merging()?.is_none() && conflicts.is_empty() {
            return Ok(());
        }
        let dir = self.worktree.dir.display();
        let files =
            if conflicts.is_empty() { String::new() } else { format!(", with conflicts in {}", few(&conflicts)) };
        Err(Error::waiting(format!("a merge is under way in {dir}{files}"))
            .hint("conclude it there: resolve the conflicts, then `git add` the files and `git commit`")
            .hint(format!("or undo it: `git -C {dir} merge --abort`"))
            .hint(format!("then `uwf run {}` continues", self.thread)))
    }

    /// Rejects a worktree with changes since its commit: a merge could mix them with the changes of a branch.
    pub(super) fn refuse_uncommitted(&self, head: &str) -> Result<()> {
        let (tree, committed) = (self.tree()?, self.git().tree_of(head)?);
        if tree == committed {
            return Ok(());
        }
        let (dir, files) = (self.worktree.dir.display(), few(&self.git().changed_paths(&committed, &tree)?));
        Err(Error::waiting(format!(
            "{dir} has uncommitted changes, which were made while the group was played: {files}"
        ))
        .hint(format!("commit them: `git -C {dir} add -A && git -C {dir} commit`, or remove them"))
        .hint(format!("then `uwf run {}` merges the branches", self.thread)))
    }

    fn conflict(&self, branches: &[PublishedBranch], position: usize, files: &[String]) -> Error {
        let names = |branches: &[PublishedBranch]| -> Vec<String> {
            branches.iter().map(|branch| format!("`{}`", branch.name)).collect()
        };
        let PublishedBranch { name, branch, .. } = &branches[position];
        let (dir, thread) = (self.worktree.dir.display(), &self.thread);
        let merged = match names(&branches[..position]) {
            merged if merged.is_empty() => "nothing was merged before".to_owned(),
            merged => format!("merged before: {}", few(&merged)),
        };
        let then = match names(&branches[position + 1..]) {
            left if left.is_empty() => format!("then `uwf run {thread}` continues"),
            left => format!("then `uwf run {thread}` continues with {}", few(&left)),
        };
        Error::waiting(format!(
            "the changes of branch `{name}` ({branch}) conflict with the files in {dir}: {}; {merged}",
            few(files)
        ))
        .hint(format!(
            "resolve them there: `git -C {dir} merge {branch}`, edit the files, then `git add` them and `git commit`"
        ))
        .hint(format!("or leave its changes out: `git -C {dir} merge -s ours -m 'Leave changes out' {branch}`"))
        .hint(then)
    }
}
