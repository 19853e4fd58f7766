//! Pushes commits to another repository and fetches them. Never forces.

use super::{GitRunner, said};
use crate::error::{Error, Result};

/// Result of a push to a branch of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// The branch is at the commit.
    Done,
    /// The branch has commits that this commit lacks, and was left unchanged.
    Behind,
}

impl GitRunner<'_> {
    /// Fast-forwards a branch of a remote to a commit, or creates the branch. Doesn't run this repository's hooks.
    ///
    /// # Errors
    /// `Busy` if the push fails for another reason than commits that this one lacks; errors of running git.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<PushOutcome> {
        let to = format!("{commit}:refs/heads/{branch}");
        let args = [
            "push",
            "--quiet",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            remote,
            &to,
        ];
        let pushed = self.signing_in().output(args)?;
        if pushed.status.success() {
            return Ok(PushOutcome::Done);
        }
        // `!<tab>FROM:TO<tab>[rejected] (fetch first)`
        let printed = String::from_utf8_lossy(&pushed.stdout);
        match printed.contains("(fetch first)") || printed.contains("(non-fast-forward)") {
            true => Ok(PushOutcome::Behind),
            false => {
                let rejected = printed.lines().filter_map(|line| line.strip_prefix("!\t")?.rsplit('\t').next());
                let said: Vec<String> = rejected.map(str::to_owned).chain([said(&pushed)]).collect();
                Err(unreachable("push to", remote, &said.join("; ")))
            }
        }
    }

    /// Fetches a branch of a remote and points the ref `into` to it; `false` if the remote has no such branch. Leaves
    /// the remote's branches in this repository unchanged.
    ///
    /// # Errors
    /// `Busy` if the fetch fails.
    pub(crate) fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<bool> {
        let from = format!("+refs/heads/{branch}:{into}");
        let args = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            remote,
            &from,
        ];
        let fetched = self.signing_in().output(args)?;
        if fetched.status.success() {
            return Ok(true);
        }
        let said = said(&fetched);
        match said.contains("couldn't find remote ref") {
            true => Ok(false),
            false => Err(unreachable("fetch from", remote, &said)),
        }
    }

    /// Whether a commit is another one or its ancestor.
    pub(crate) fn is_in(&self, commit: &str, other: &str) -> Result<bool> {
        self.ask(["merge-base", "--is-ancestor", commit, other])
    }

    /// The newest commit with this line in its message, among a commit and its ancestors.
    pub(crate) fn newest_with_line(&self, line: &str, tip: &str) -> Result<Option<String>> {
        let grep = format!("--grep={line}");
        let found =
            self.text("look for recorded files", ["rev-list", "--max-count=1", "--fixed-strings", &grep, tip])?;
        Ok(Some(found).filter(|found| !found.is_empty()))
    }

    /// The message of a commit.
    pub(crate) fn message(&self, commit: &str) -> Result<String> {
        self.text("look at recorded files", ["show", "--no-patch", "--format=%B", commit])
    }

    /// The same git with the tokens that sign in to a remote.
    fn signing_in(&self) -> GitRunner<'_> {
        GitRunner { is_remote: true, ..self.again() }
    }
}

fn unreachable(action: &str, remote: &str, said: &str) -> Error {
    Error::busy(format!("cannot {action} `{remote}`: git says: {said}"))
        .hint(format!("try again when it can be reached; run `git ls-remote {remote}` in the repository to check"))
}
