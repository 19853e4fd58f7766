//! Checks that the branches of a group only read files.

use uwf_core::text::first_names;
use uwf_core::workflow::BranchFiles;

use crate::attempt::git::SnapshotCommit;
use crate::attempt::worktree::short;
use crate::error::{Error, Result};

use super::GroupFiles;

/// Most paths in a message.
const SHOWN: usize = 10;

/// The branches that are at work in the same worktree.
#[derive(Debug, Default)]
pub(super) struct BranchWatch {
    at_work: usize,
    begun: usize,
    /// Branches that changed files or moved the checkout while no other branch was at work.
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
        let before = if is_alone() { self.checkout_in_passing() } else { None };
        let done = run();
        let after = if before.is_some() && is_alone() { self.checkout_in_passing() } else { before.clone() };
        let mut watch = self.watch.lock();
        watch.at_work -= 1;
        if after.is_some() && after != before {
            watch.culprits.push(branch.to_owned());
        }
        done
    }

    /// The present files, commit and git branch. A failure only means that a message names no branch.
    fn checkout_in_passing(&self) -> Option<[Option<String>; 3]> {
        let _errand = self.errand();
        let own = self.own().ok()?;
        Some([Some(self.tree().ok()?), own.commit("HEAD").ok()?, own.checked_out().ok()?])
    }

    /// Checks that the files are as they were when the group began.
    ///
    /// # Errors
    /// `AgentFailed` if they are not: then a ref keeps them. Errors of git.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let _errand = self.errand();
        let Some(start) = self.start()? else { return Ok(()) };
        let files = self.present()?;
        let left_out = files.left_out_line().filter(|why| start.left_out.as_ref() != Some(why));
        if files.tree == start.tree && left_out.is_none() {
            return self.check_same_checkout(&start);
        }
        let title = format!("uwf: files that group {} changed in thread {}", self.role, self.thread);
        let commit = self.record(&files, Some(&start.commit), &title)?;
        self.git().update_ref(&self.name("changed"), &commit)?;
        let paths = self.git().changed_paths(&start.tree, &files.tree)?;
        let what: Vec<String> = Some(few(&paths)).filter(|_| !paths.is_empty()).into_iter().chain(left_out).collect();
        Err(self.changed(&start, &commit, &what.join("; ")))
    }

    /// Checks that the commit and the git branch of the worktree are the ones with which the group began. The files are.
    fn check_same_checkout(&self, start: &SnapshotCommit) -> Result<()> {
        let own = self.own()?;
        let (commit, branch) = (own.commit("HEAD")?, own.checked_out()?);
        // Without a commit, a snapshot is its own head.
        let is_same_commit = *commit.as_ref().unwrap_or(&start.commit) == start.head;
        // An older uwf did not record the branch.
        let is_same_branch = start.branch.is_none() || start.branch == branch;
        if is_same_commit && is_same_branch {
            return Ok(());
        }
        let (role, thread, dir) = (&self.role, &self.thread, self.worktree.dir.display());
        let place = |branch: Option<&str>, commit: &str| {
            let name = branch.map_or("no git branch".to_owned(), |name| format!("branch {name}"));
            if commit.is_empty() {
                format!("{name}, which has no commit")
            } else {
                format!("{name} at {}", short(commit))
            }
        };
        let before = place(start.branch.as_deref(), &start.head);
        let now = place(branch.as_deref(), commit.as_deref().unwrap_or_default());
        let back = match &start.branch {
            Some(branch) => format!(
                "git -C {dir} symbolic-ref HEAD refs/heads/{branch} && git -C {dir} reset --soft {}",
                start.head
            ),
            None => format!("git -C {dir} update-ref --no-deref HEAD {}", start.head),
        };
        Err(Error::agent_failed(format!(
            "while the branches of group `{role}` were at work, the checkout moved from {before} to {now}, but `files: read` only allows reading{}",
            self.by_culprits()
        ))
        .hint(format!("to move it back, with the same files: `{back}`"))
        .hint(self.hint_to_keep())
        .hint(format!("then `uwf thread retry {thread}` continues with the outputs of the branches; none of them runs again")))
    }

    /// The branches that changed something while no other branch was at work, after a comma.
    fn by_culprits(&self) -> String {
        let culprits: Vec<String> =
            self.watch.lock().culprits.iter().map(|branch| format!("branch `{branch}`")).collect();
        if culprits.is_empty() { String::new() } else { format!(", by {}", culprits.join(" and ")) }
    }

    fn hint_to_keep(&self) -> String {
        let (repository, name) = (self.worktree.repository.display(), self.name("group"));
        format!("or to keep the changes: `git -C {repository} update-ref -d {name}`")
    }

    fn changed(&self, start: &SnapshotCommit, commit: &str, files: &str) -> Error {
        let by = self.by_culprits();
        let (role, thread) = (&self.role, &self.thread);
        let (dir, repository) = (self.worktree.dir.display(), self.worktree.repository.display());
        let tree = &start.tree;
        Error::agent_failed(format!(
            "while the branches of group `{role}` were at work, files changed, but `files: read` only allows reading: {files}{by}"
        ))
        .hint(format!("the changed files are kept: `git -C {repository} show --stat {commit}`"))
        .hint(format!("to restore the files from before: `git -C {dir} add -A && git -C {dir} read-tree --reset -u {tree}`"))
        .hint(self.hint_to_keep())
        .hint(format!("then `uwf thread retry {thread}` continues with the outputs of the branches; none of them runs again"))
        .hint("if branches should change files, give the group `files: worktree`, or `files: shared` with `max: 1`")
    }
}

/// The first paths of a list, and how many follow.
pub(super) fn few(paths: &[String]) -> String {
    first_names(paths, SHOWN)
}
