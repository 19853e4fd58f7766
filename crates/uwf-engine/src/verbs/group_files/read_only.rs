//! Checks that the branches of a group only read files.

use uwf_core::workflow::BranchFiles;

use crate::attempt::git::SnapshotCommit;
use crate::error::{Error, Result};

use super::GroupFiles;

/// Most paths in a message.
const SHOWN: usize = 10;

/// The branches that are at work in the same worktree.
#[derive(Debug, Default)]
pub(super) struct BranchWatch {
    at_work: usize,
    begun: usize,
    /// Branches that changed files while no other branch was at work.
    culprits: Vec<String>,
}

impl BranchWatch {
    /// The number of a branch that begins.
    fn begin(&mut self) -> usize {
        self.at_work += 1;
        self.begun += 1;
        self.begun
    }

    /// Whether a branch has been alone since it began.
    fn is_alone(&self, number: usize) -> bool {
        self.at_work == 1 && self.begun == number
    }
}

impl GroupFiles<'_> {
    /// Runs a branch. If no other branch is at work meanwhile, remembers whether it changed files.
    pub fn around<T>(&self, branch: &str, run: impl FnOnce() -> T) -> T {
        if self.mode != BranchFiles::Read {
            return run();
        }
        let number = self.watch.lock().begin();
        let is_alone = || self.watch.lock().is_alone(number);
        let before = if is_alone() { self.tree_in_passing() } else { None };
        let done = run();
        let after = if before.is_some() && is_alone() { self.tree_in_passing() } else { before.clone() };
        let mut watch = self.watch.lock();
        watch.at_work -= 1;
        if after.is_some() && after != before {
            watch.culprits.push(branch.to_owned());
        }
        done
    }

    /// The present files. A failure only means that a message names no branch.
    fn tree_in_passing(&self) -> Option<String> {
        let _errand = self.errand();
        self.tree().ok()
    }

    /// Checks that the files are as they were when the group began.
    ///
    /// # Errors
    /// `AgentFailed` if they are not: then a ref keeps them. Errors of git.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let _errand = self.errand();
        let Some(start) = self.start()? else { return Ok(()) };
        let tree = self.tree()?;
        if tree == start.tree {
            return Ok(());
        }
        let title = format!("uwf: files that group {} changed in thread {}", self.role, self.thread);
        let commit = self.record(&tree, Some(&start.commit), &title)?;
        self.git().update_ref(&self.name("changed"), &commit)?;
        Err(self.changed(&start, &commit, &self.git().changed_paths(&start.tree, &tree)?))
    }

    fn changed(&self, start: &SnapshotCommit, commit: &str, paths: &[String]) -> Error {
        let culprits: Vec<String> =
            self.watch.lock().culprits.iter().map(|branch| format!("branch `{branch}`")).collect();
        let by = if culprits.is_empty() { String::new() } else { format!(", by {}", culprits.join(" and ")) };
        let (role, files, thread) = (&self.role, few(paths), &self.thread);
        let (dir, repository) = (self.worktree.dir.display(), self.worktree.repository.display());
        let (tree, name) = (&start.tree, self.name("group"));
        Error::agent_failed(format!(
            "files changed while the branches of group `{role}` were at work, and `files: read` only lets them read: {files}{by}"
        ))
        .hint(format!("the changed files are kept: `git -C {repository} show --stat {commit}`"))
        .hint(format!("to restore the files from before: `git -C {dir} add -A && git -C {dir} read-tree --reset -u {tree}`"))
        .hint(format!("or to keep the changes: `git -C {repository} update-ref -d {name}`"))
        .hint(format!("then `uwf thread retry {thread}` continues with the outputs of the branches; none of them runs again"))
        .hint("if branches should change files, give the group `files: worktree`, or `files: shared` with `max: 1`")
    }
}

/// The first paths of a list, and how many follow.
pub(super) fn few(paths: &[String]) -> String {
    let shown = paths.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
