//! Merges a branch into the branch that is checked out.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Output;

use super::{GitRunner, failed, input, said};
use crate::error::{Error, ErrorCause, Result};

/// How to merge a branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MergeMethod {
    /// Fast-forward if possible, otherwise create a merge commit.
    #[default]
    AsNeeded,
    /// Fast-forward or fail.
    FastForwardOnly,
    /// Always create a merge commit.
    MergeCommit,
    /// Create one commit with all changes, without the branch as a parent.
    Squash,
}

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GitMergeOutcome {
    /// The branch was merged.
    In(MergeKind),
    /// These files have conflicts that a person must resolve.
    Conflicts(Vec<String>),
}

/// How a branch was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeKind {
    /// It was already merged.
    UpToDate,
    /// The branch that is checked out was fast-forwarded.
    FastForward,
    /// A merge commit was created.
    Merge,
    /// One commit with all changes was created.
    Squash,
}

/// Exit code of `git merge-tree` when both sides changed the same lines.
const HAS_CONFLICTS: i32 = 1;

/// Exit code of git for an option that it does not know.
const UNKNOWN_OPTION: i32 = 129;

/// Result of a merge that was only probed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergeProbe {
    /// The merged files.
    Clean(String),
    /// These files have conflicts.
    Conflicts(Vec<String>),
}

impl GitRunner<'_> {
    /// The branch that is checked out; `None` for a detached HEAD.
    pub(crate) fn checked_out(&self) -> Result<Option<String>> {
        let found = self.output(["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Ok(found.status.success().then(|| String::from_utf8_lossy(found.stdout.trim_ascii()).into_owned()))
    }

    /// Files with unresolved conflicts.
    pub(crate) fn conflicts(&self) -> Result<Vec<String>> {
        let listed = self.text("look for conflicts", ["ls-files", "--unmerged", "--full-name", "-z", ":/"])?;
        // `MODE OBJECT STAGE<tab>PATH`, for each side of a conflict.
        let paths = listed.split_terminator('\0').filter_map(|entry| entry.split_once('\t').map(|(_, path)| path));
        let mut paths: Vec<String> = paths.map(str::to_owned).collect();
        paths.dedup();
        Ok(paths)
    }

    /// Whether the index differs from the commit.
    pub(crate) fn has_staged(&self) -> Result<bool> {
        Ok(!self.ask(["diff", "--cached", "--quiet", "--no-ext-diff"])?)
    }

    /// The commit being merged, if a merge is unfinished.
    pub(crate) fn merging(&self) -> Result<Option<String>> {
        self.commit("MERGE_HEAD")
    }

    /// Commits a tree on the branch of a working tree, with the author that is configured for the repository. Reads no
    /// files. `false` when the commit already has that tree.
    pub(crate) fn commit_on_branch(&self, tree: &str, message: &str) -> Result<bool> {
        let action = "commit the changes of the worktree";
        let before = self.commit("HEAD")?;
        let parents: Vec<&str> = before.iter().flat_map(|before| ["-p", before]).collect();
        if before.is_some() && self.text(action, ["rev-parse", "HEAD^{tree}"])? == tree {
            return Ok(false);
        }
        let sign = if self.signing.is_on { "--gpg-sign" } else { "--no-gpg-sign" };
        let made = self.output(["commit-tree", sign, tree, "-m", message].into_iter().chain(parents))?;
        if !made.status.success() {
            let why = self.uncommitted_because(action, &made);
            // This only writes the commit object, so a failure comes from the signer, which may print nothing.
            let is_unsigned = why.cause == Some(ErrorCause::GitFailed) && self.signing.is_on && !is_full(&why.message);
            return Err(if is_unsigned { not_signed(&said(&made)) } else { why });
        }
        let commit = String::from_utf8_lossy(made.stdout.trim_ascii()).into_owned();
        let reflog = format!("commit: {}", message.lines().next().unwrap_or_default());
        self.run(action, ["update-ref", "-m", &reflog, "HEAD", &commit, before.as_deref().unwrap_or_default()])?;
        self.run(action, ["read-tree", "--reset", &commit])?;
        Ok(true)
    }

    /// Merges a branch. The index must equal the commit.
    pub(crate) fn bring_in(&self, branch: &str, manner: MergeMethod, message: &str) -> Result<GitMergeOutcome> {
        let before = self.commit("HEAD")?;
        let how: &[&str] = match manner {
            MergeMethod::AsNeeded => &["--ff", "--no-squash", "--commit", "-m", message],
            MergeMethod::FastForwardOnly => &["--ff-only", "--no-squash", "--commit"],
            MergeMethod::MergeCommit => &["--no-ff", "--no-squash", "--commit", "-m", message],
            MergeMethod::Squash => &["--ff", "--squash", "--no-commit"],
        };
        let args = ["merge", "--no-edit", "--no-autostash"].into_iter().chain(how.iter().copied()).chain([branch]);
        let merged = self.output(args)?;
        if !merged.status.success() {
            let conflicts = self.conflicts()?;
            return match conflicts.is_empty() {
                true => {
                    if self.merging()?.is_some() {
                        let _ = self.abort_merge();
                    }
                    Err(self.why_not(branch, &merged))
                }
                false => Ok(GitMergeOutcome::Conflicts(conflicts)),
            };
        }
        if manner == MergeMethod::Squash {
            if !self.has_staged()? {
                // Git has prepared a message although there is nothing to commit.
                self.abort_squash()?;
                return Ok(GitMergeOutcome::In(MergeKind::UpToDate));
            }
            if let Err(error) = self.commit_staged("commit the changes of the branch", &["-m", message]) {
                // Nothing was staged before. If this fails as well, the first error already says why.
                let _ = self.abort_squash();
                return Err(error);
            }
            return Ok(GitMergeOutcome::In(MergeKind::Squash));
        }
        let after = self.commit("HEAD")?;
        Ok(GitMergeOutcome::In(match after == before {
            true => MergeKind::UpToDate,
            false if after == self.commit(branch)? => MergeKind::FastForward,
            false => MergeKind::Merge,
        }))
    }

    /// Why git did not merge a branch.
    fn why_not(&self, branch: &str, merged: &Output) -> Error {
        let said = said(merged);
        let stderr = String::from_utf8_lossy(&merged.stderr);
        let files: Vec<String> = stderr.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
        let top = self.dir.display();
        if said.contains("would be overwritten by merge") && !files.is_empty() {
            let (files_at_risk, hint) = match said.contains("untracked working tree files") {
                true => ("files that git does not know", "move them away, or add and commit them, then merge again"),
                false => ("uncommitted changes", "commit them, or put them aside: `git stash`; then merge again"),
            };
            Error::usage(format!("{files_at_risk} in {top} would be overwritten: {}", files.join(", "))).hint(hint)
        } else if said.contains("Not possible to fast-forward") || said.contains("can't be fast-forwarded") {
            Error::usage(format!("{branch} and the branch checked out in {top} both have new commits"))
                .hint("without --ff-only there will be a merge commit")
        } else {
            self.uncommitted_because("bring the branch in", merged)
        }
    }

    /// Why git did not create a commit.
    fn uncommitted_because(&self, action: &'static str, output: &Output) -> Error {
        let said = said(output);
        let is_unsigned = self.signing.is_on && NOT_SIGNED.iter().any(|words| said.contains(words));
        if is_nobody(&said) {
            Error::config("git does not know who you are, and a commit needs an author")
                .hint("git config --global user.name 'NAME'; git config --global user.email ADDRESS")
        } else if is_unsigned && !is_full(&said) {
            not_signed(&said)
        } else {
            failed(action, output)
        }
    }

    fn commit_staged(&self, action: &'static str, args: &[&str]) -> Result<()> {
        let output = self.output(["commit", "--quiet", "--no-verify"].into_iter().chain(args.iter().copied()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(self.uncommitted_because(action, &output)),
        }
    }

    /// Restores the state before a merge.
    pub(crate) fn abort_merge(&self) -> Result<()> {
        self.run("abort the merge", ["merge", "--abort"]).map(drop)
    }

    /// Like `abort_merge`, for a squash: git only knows its conflicts. Keeps unstaged changes.
    pub(crate) fn abort_squash(&self) -> Result<()> {
        self.run("abort the merge", ["reset", "--quiet", "--merge"].map(OsStr::new)).map(drop)?;
        // Otherwise the next commit would offer this message.
        let path = self.run("abort the merge", ["rev-parse", "--path-format=absolute", "--git-path", "SQUASH_MSG"])?;
        // It is only a suggested text.
        let _ = std::fs::remove_file(path);
        Ok(())
    }

    /// Merges two commits without touching a file or a ref. Call it on a [`GitRunner::view`], whose settings name no merge program.
    pub(crate) fn probe_merge(&self, into: &str, tip: &str) -> Result<MergeProbe> {
        let args = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", into, tip];
        let merged = self.output(args)?;
        let listed = String::from_utf8_lossy(&merged.stdout).into_owned();
        let mut parts = listed.split_terminator('\0').map(str::to_owned);
        let tree = parts.next().unwrap_or_default();
        match merged.status.code() {
            Some(0) => Ok(MergeProbe::Clean(tree)),
            Some(HAS_CONFLICTS) => Ok(MergeProbe::Conflicts(parts.collect())),
            Some(UNKNOWN_OPTION) => Err(Error::config("git is too old to probe a merge; install git 2.38 or newer")
                .hint("update git; nothing was merged, and no branch runs again")),
            _ => Err(failed("probe the merge", &merged)),
        }
    }

    /// The files that merging `tip` into `into` would produce; `tip` itself where git cannot compute them.
    pub(crate) fn merged_tree(&self, into: &str, tip: &str) -> Result<String> {
        let merged = self.output(["merge-tree", "--write-tree", into, tip])?;
        let tree = String::from_utf8_lossy(&merged.stdout).lines().next().unwrap_or_default().to_owned();
        Ok(if merged.status.success() { tree } else { tip.to_owned() })
    }

    /// Paths of the files that differ between two trees.
    pub(crate) fn changed_paths(&self, one: &str, other: &str) -> Result<Vec<String>> {
        let args = ["diff-tree", "-r", "--no-renames", "--name-only", "-z", one, other];
        let listed = self.text("look at the merge", args)?;
        Ok(listed.split_terminator('\0').map(str::to_owned).collect())
    }

    /// The content of a file in a tree; `None` if it is not in the tree.
    pub(crate) fn file_at(&self, tree: &str, path: &str) -> Result<Option<Vec<u8>>> {
        let found = self.output(["cat-file", "--filters", &format!("{tree}:{path}")])?;
        Ok(found.status.success().then_some(found.stdout))
    }

    /// Paths of files with uncommitted changes, and of untracked files.
    pub(crate) fn own_changes(&self) -> Result<Vec<String>> {
        let args = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let listed = self.text("look for uncommitted changes", args)?;
        Ok(listed.split_terminator('\0').filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
    }

    /// A commit with the uncommitted changes of tracked files, if any. No ref points to it.
    pub(crate) fn stash(&self) -> Result<Option<String>> {
        let stash = self.text("save the uncommitted changes", ["stash", "create"])?;
        Ok(Some(stash).filter(|stash| !stash.is_empty()))
    }

    /// Restores files from a commit, but not their index entries.
    pub(crate) fn restore_files_of(&self, commit: &str, paths: &[String]) -> Result<()> {
        let source = format!("--source={commit}");
        self.of_paths(paths, ["restore", &source, "--worktree"])
    }

    /// Restores files and their index entries from a commit.
    pub(crate) fn restore_paths(&self, commit: &str, paths: &[String]) -> Result<()> {
        let source = format!("--source={commit}");
        self.of_paths(paths, ["restore", &source, "--staged", "--worktree"])
    }

    /// Removes files from the index.
    pub(crate) fn forget_paths(&self, paths: &[String]) -> Result<()> {
        self.of_paths(paths, ["rm", "--cached", "--quiet", "--ignore-unmatch"])
    }

    fn of_paths<const N: usize>(&self, paths: &[String], args: [&str; N]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let listed: String = paths.iter().flat_map(|path| [path, "\0"]).collect();
        let git = GitRunner { input: Some(input(listed.as_bytes())?), ..self.again() };
        let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        git.run("undo a merge that was killed", ["--literal-pathspecs"].into_iter().chain(args).chain(from)).map(drop)
    }

    /// The git directory of this working tree.
    pub(crate) fn git_dir(&self) -> Result<PathBuf> {
        self.run("look at the git repository", ["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
    }

    /// Whether a squash of a branch with this tip is under way and has conflicts.
    pub(crate) fn squashing(&self, tip: &str) -> Result<bool> {
        Ok(self.squash_lists(tip)? && !self.conflicts()?.is_empty())
    }

    /// Whether git's suggested squash message lists a commit.
    pub(crate) fn squash_lists(&self, commit: &str) -> Result<bool> {
        let path =
            self.run("look at the merge", ["rev-parse", "--path-format=absolute", "--git-path", "SQUASH_MSG"])?;
        // No such file: no squash is under way.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Ok(text.lines().any(|line| line.strip_prefix("commit ").is_some_and(|listed| listed == commit)))
    }
}

/// Git's words about a commit that it could not sign.
const NOT_SIGNED: [&str; 5] = ["cannot exec", "failed to write commit object", "failed to sign", "signing", "key"];

/// Whether the disk is full.
fn is_full(said: &str) -> bool {
    said.contains("No space left")
}

/// Whether git does not know the author of a commit.
fn is_nobody(said: &str) -> bool {
    said.contains("dentity unknown") || said.contains("empty ident name") || said.contains("auto-detect email")
}

fn not_signed(said: &str) -> Error {
    Error::config(format!("cannot sign the commit: git says: {said}"))
        .hint("your settings: git config --global --get-regexp '^(commit.gpgsign|user.signingkey|gpg)'")
}
