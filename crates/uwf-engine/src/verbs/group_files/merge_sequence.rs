//! `merge: sequence`: the changes of the branches come into the thread's worktree, one branch after the other.
//!
//! Each merge is probed without touching a file. Only a merge without conflicts is carried out: a ref names its commit first, then the files
//! follow, then the branch of the worktree moves. So an attempt that is killed in between is completed by the next one.

use std::collections::BTreeSet;

use crate::attempt::git::{GitRunner, MergeProbe};
use crate::attempt::snapshot;
use crate::error::{Error, ErrorKind, Result};

use super::GroupFiles;
use super::branch_worktrees::PublishedBranch;
use super::read_only::few;

/// The ref that names the commit to which the worktree is being moved.
const MERGING: &str = "merging";

/// The first round in which a role resolves a conflict.
pub const FIRST_ROUND: u32 = 1;

/// All rounds. In the second, the role removes the conflict markers that it left in the first.
pub const ROUNDS: [u32; 2] = [FIRST_ROUND, 2];

/// How the lines begin that git writes around the two sides of a conflict.
const MARKERS: [&[u8]; 3] = [b"<<<<<<< ", b">>>>>>> ", b"||||||| "];

/// A branch whose changes have conflicts with the files of the thread.
pub struct MergeConflict {
    /// Its name in the group.
    pub branch: String,
    /// The git branch with its changes.
    pub git_branch: String,
    /// The files with conflicts; after the first round, those with conflict markers.
    pub files: Vec<String>,
    /// The round of the role that resolves it.
    pub round: u32,
}

/// A conflict, as the worktree and the recorded commits show it.
struct FoundConflict {
    /// The commit of the thread with which the branch conflicts.
    before: String,
    files: Vec<String>,
    /// Whether the branch is merged already.
    is_merged: bool,
}

/// Lets a role play a round of a conflict.
pub type ConflictResolver<'r> = dyn FnMut(&MergeConflict) -> Result<()> + 'r;

impl GroupFiles<'_> {
    /// Merges the branches in their order. A merged branch is an ancestor of the commit that is checked out, so each attempt continues after
    /// the last one.
    pub(super) fn merge_all(
        &self,
        branches: &[PublishedBranch],
        resolve: &mut ConflictResolver<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        self.refuse_other_branch()?;
        self.refuse_left_out(branches)?;
        self.complete_interrupted()?;
        (0..branches.len()).try_for_each(|position| self.refuse_dropped(branches, position))?;
        (0..branches.len()).try_for_each(|position| self.merge_one(branches, position, resolve, say))
    }

    fn merge_one(
        &self,
        branches: &[PublishedBranch],
        position: usize,
        resolve: &mut ConflictResolver<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let branch = &branches[position];
        let Some(FoundConflict { before, files, is_merged }) = self.merge_without_conflict(branch, say)? else {
            return Ok(());
        };
        if !self.has_resolver {
            return Err(self.conflict(branches, position, &files));
        }
        self.git().update_ref(&self.conflict_ref(branch), &before)?;
        let mut marked = Vec::new();
        for round in ROUNDS {
            let is_first = round == FIRST_ROUND;
            if !is_first || !is_merged {
                let (name, git_branch) = (branch.name.clone(), branch.branch.clone());
                let files = if is_first { files.clone() } else { marked };
                let conflict = MergeConflict { branch: name, git_branch, files, round };
                resolve(&conflict)?;
                if !self.is_resolved(&branch.tip)? {
                    return Err(self.conflict(branches, position, &conflict.files));
                }
                self.refuse_dropped(branches, position)?;
            }
            marked = self.with_markers(&before, &branch.tip, &files)?;
            if marked.is_empty() {
                say(&format!("the conflicts of branch {} ({}) are resolved", branch.name, branch.branch));
                return Ok(());
            }
        }
        Err(self.left_markers(branch, &marked))
    }

    /// Merges a branch that has no conflicts. Returns the conflict otherwise, also after a role has merged it.
    fn merge_without_conflict(
        &self,
        branch: &PublishedBranch,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<FoundConflict>> {
        let git = self.own()?;
        let Some(head) = git.commit("HEAD")? else { return Err(self.moved()) };
        let earlier = self.git().commit(&self.conflict_ref(branch))?;
        if git.is_in(&branch.tip, &head)? {
            return earlier.map(|before| self.conflict_with(before, branch, true)).transpose();
        }
        self.refuse_dropped_start(branch)?;
        let usable = self.refuse_unfinished_merge(&git).and_then(|()| self.refuse_uncommitted(&head));
        match (usable, earlier) {
            // The role that resolves the conflict may have stopped within the merge.
            (Err(error), Some(before)) if error.kind == ErrorKind::Waiting => {
                return self.conflict_with(before, branch, false).map(Some);
            }
            (usable, _) => usable?,
        }
        match self.probe(&head, &branch.tip)? {
            MergeProbe::Conflicts(files) => Ok(Some(FoundConflict { before: head, files, is_merged: false })),
            MergeProbe::Clean(tree) => {
                self.commit_merge(&head, branch, &tree, say)?;
                Ok(None)
            }
        }
    }

    fn conflict_with(&self, before: String, branch: &PublishedBranch, is_merged: bool) -> Result<FoundConflict> {
        let files = match self.probe(&before, &branch.tip)? {
            MergeProbe::Conflicts(files) => files,
            MergeProbe::Clean(_) => Vec::new(),
        };
        Ok(FoundConflict { before, files, is_merged })
    }

    /// The ref that keeps the commit with which a branch conflicted.
    fn conflict_ref(&self, branch: &PublishedBranch) -> String {
        self.name(&format!("conflict-{}", branch.thread))
    }

    /// Commits a merge without conflicts.
    fn commit_merge(&self, head: &str, branch: &PublishedBranch, tree: &str, say: &mut dyn FnMut(&str)) -> Result<()> {
        let PublishedBranch { name, branch, tip, .. } = branch;
        let text = format!("Merge {branch}: branch {name} of group {}\n\nUwf-Thread: {}\n", self.role, self.thread);
        let commit = self.git().commit_tree(tree, &[head, tip], &text)?;
        self.carry_out(head, &commit)?;
        say(&format!("merged branch {name} ({branch})"));
        Ok(())
    }

    /// The files that have conflict markers in the commit that is checked out. Lines of the two sides do not count.
    fn with_markers(&self, before: &str, tip: &str, files: &[String]) -> Result<Vec<String>> {
        let git = self.own()?;
        let lines = |commit: &str, file: &String| -> Result<BTreeSet<Vec<u8>>> {
            let content = git.file_at(commit, file)?.unwrap_or_default();
            let is_marker = |line: &&[u8]| MARKERS.iter().any(|marker| line.starts_with(marker));
            Ok(content.split(|byte| *byte == b'\n').filter(is_marker).map(<[u8]>::to_vec).collect())
        };
        let mut marked = Vec::new();
        for file in files {
            let known = [lines(before, file)?, lines(tip, file)?];
            if lines("HEAD", file)?.iter().any(|line| known.iter().all(|side| !side.contains(line))) {
                marked.push(file.clone());
            }
        }
        Ok(marked)
    }

    fn left_markers(&self, branch: &PublishedBranch, files: &[String]) -> Error {
        let (dir, PublishedBranch { name, branch, .. }) = (self.worktree.dir.display(), branch);
        Error::waiting(format!(
            "the changes of branch `{name}` ({branch}) were merged in {dir} with conflict markers in {}",
            few(files)
        ))
        .hint(format!("resolve them there: edit the files, then `git -C {dir} commit -a`"))
        .hint(format!("then `uwf run {}` continues", self.thread))
    }

    /// Whether a role has merged a commit into the worktree.
    fn is_resolved(&self, tip: &str) -> Result<bool> {
        self.refuse_other_branch()?;
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
        let files = self.present()?;
        let title = format!("uwf: worktree of thread {} before an interrupted merge was completed", self.owner);
        let kept = self.record(&files, None, &title)?;
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
            .hint("finish it there: resolve the conflicts, then `git add` the files and `git commit`")
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
        .hint(format!("then `uwf run {}` continues", self.thread)))
    }

    /// Rejects a branch that dropped commits that the group began with: a merge would compare it with older files, and lose changes.
    fn refuse_dropped_start(&self, branch: &PublishedBranch) -> Result<()> {
        let Some(start) = self.start()? else { return Ok(()) };
        if self.git().is_in(&start.head, &branch.tip)? {
            return Ok(());
        }
        let PublishedBranch { name, branch: git_branch, .. } = branch;
        let dir = self.worktree.dir.display();
        Err(Error::waiting(format!(
            "branch `{name}` ({git_branch}) has dropped commits that the group began with, so uwf does not merge it"
        ))
        .hint(format!("merge the changes you want in {dir}, for example `git -C {dir} merge {git_branch}`"))
        .hint(format!(
            "or leave its changes out: `git -C {dir} merge -s ours --allow-unrelated-histories -m 'Leave changes out' {git_branch}`"
        ))
        .hint(self.then_continue()))
    }

    /// Rejects a worktree where another git branch than the thread's own is checked out: a merge would move that one.
    pub(super) fn refuse_other_branch(&self) -> Result<()> {
        let own = &self.worktree.branch;
        let now = self.own()?.checked_out()?;
        // Git writes `heads/` before the name of a branch if a tag has the same name.
        if now.as_deref().is_some_and(|now| now.strip_prefix("heads/").unwrap_or(now) == own) {
            return Ok(());
        }
        let dir = self.worktree.dir.display();
        let now = now.map_or("no git branch".to_owned(), |now| format!("git branch {now}"));
        Err(Error::waiting(format!("{now} is checked out in {dir}, instead of {own}, the git branch of its thread"))
            .hint(format!("commits that belong to the thread: merge them into {own}"))
            .hint(format!("check it out again: `git -C {dir} switch {own}`"))
            .hint(format!("then `uwf run {}` continues", self.thread)))
    }

    /// Rejects a merge by a role that dropped commits: the files of the thread from before, with the branches merged before.
    fn refuse_dropped(&self, branches: &[PublishedBranch], position: usize) -> Result<()> {
        let branch = &branches[position];
        let Some(before) = self.git().commit(&self.conflict_ref(branch))? else { return Ok(()) };
        let git = self.own()?;
        let Some(head) = git.commit("HEAD")? else { return Err(self.moved()) };
        if git.is_in(&before, &head)? {
            return Ok(());
        }
        let mut dropped = Vec::new();
        for earlier in &branches[..position] {
            if !git.is_in(&earlier.tip, &head)? {
                dropped.push(format!("`{}`", earlier.name));
            }
        }
        let dropped = match dropped.len() {
            0 => String::new(),
            1 => format!(", and with it the changes of branch {}", dropped[0]),
            _ => format!(", and with it the changes of branches {}", few(&dropped)),
        };
        let (dir, PublishedBranch { name, branch, .. }) = (self.worktree.dir.display(), branch);
        Err(Error::waiting(format!(
            "{dir} no longer has commit {before}, into which branch `{name}` ({branch}) was to be merged{dropped}"
        ))
        .hint(format!(
            "bring it back: `git -C {dir} merge {before}`, resolve the conflicts, then `git add` the files and `git commit`"
        ))
        .hint(format!("or undo all that was done since: `git -C {dir} reset --hard {before}`"))
        .hint(format!("then `uwf run {}` continues", self.thread)))
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
