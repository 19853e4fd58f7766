//! The working tree that a directory is in, and the commit checked out there.

use std::path::{Path, PathBuf};

use super::{GitRunner, failed, said};
use crate::error::{Error, ErrorCause, Result};
use crate::root::inner_path::InnerPath;

/// A directory in a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitCheckout {
    /// The directory of the working tree.
    pub(crate) top: PathBuf,
    /// The directory's path in it; empty for the top.
    pub(crate) inside: InnerPath,
    /// The repository: the `.git` that all its working trees share.
    pub(crate) repository: PathBuf,
    /// The commit that is checked out.
    pub(crate) commit: String,
}

impl GitCheckout {
    /// The working tree that contains a directory.
    ///
    /// # Errors
    /// `Usage` without a repository, a working tree or a commit; `Io` when git cannot look.
    pub(crate) fn containing_directory(dir: &Path) -> Result<GitCheckout> {
        let git = GitRunner::for_directory(dir);
        let looked = git.output(["rev-parse", "--is-inside-work-tree"])?;
        if !looked.status.success() {
            return Err(match said(&looked).contains("not a git repository") {
                true => no_repository(dir),
                false => failed("look at the git repository", &looked),
            });
        }
        if looked.stdout.trim_ascii() != b"true" {
            return Err(no_work_tree(dir));
        }
        let path = |what: &str| git.run("look at the git repository", ["rev-parse", "--path-format=absolute", what]);
        let top = PathBuf::from(path("--show-toplevel")?);
        let prefix = git.run("look at the git repository", ["rev-parse", "--show-prefix"])?;
        let inside = PathBuf::from(prefix).try_into().map_err(|_| no_work_tree(dir))?;
        let Some(commit) = git.commit("HEAD")? else { return Err(no_commit(&top)) };
        Ok(GitCheckout { inside, repository: git.repository()?, top, commit })
    }
}

impl GitRunner<'_> {
    /// The commit that a name resolves to, if it exists.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>> {
        let found =
            self.output(["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])?;
        let text = String::from_utf8_lossy(found.stdout.trim_ascii()).into_owned();
        Ok(found.status.success().then_some(text))
    }

    /// The repository: the `.git` that all its working trees share.
    pub(crate) fn repository(&self) -> Result<PathBuf> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        self.run("look at the git repository", args).map(PathBuf::from)
    }

    /// Number of files that differ from the commit, including untracked files, excluding ignored files.
    pub(crate) fn uncommitted(&self) -> Result<usize> {
        let status = [
            "--no-optional-locks",
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ];
        let listed = self.run("look for uncommitted changes", status)?;
        Ok(listed.as_encoded_bytes().split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count())
    }
}

fn no_repository(dir: &Path) -> Error {
    Error::usage(format!("{} is not in a git repository", dir.display()))
        .hint("a thread gets its worktree from the repository it is started in: `git init` creates one, --cwd DIR names one")
        .hint("without a worktree, agents work in the directory")
        .with_cause(ErrorCause::NoWorkingTree)
}

fn no_work_tree(dir: &Path) -> Error {
    Error::usage(format!("{} is in a git repository without a working tree", dir.display()))
        .hint(
            "start the thread in a working tree of that repository: create one with `git worktree add DIR`, or name \
             one with --cwd DIR",
        )
        .with_cause(ErrorCause::NoWorkingTree)
}

/// The error for a repository without a commit to begin at.
pub(crate) fn no_commit(repository: &Path) -> Error {
    Error::usage(format!("the git repository {} has no commit yet", repository.display()))
        .hint("a worktree begins at a commit: `git commit` the files first")
}
