//! Working trees and branches.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{GitRunner, failed, input, refused};
use crate::error::Result;

impl GitRunner<'_> {
    /// Creates a working tree on a new branch at a commit. Fails if the branch exists, unless it may be `moved` to the
    /// commit. Doesn't run hooks.
    pub(crate) fn add_worktree(&self, dir: &Path, branch: &str, commit: &str, moved: bool) -> Result<()> {
        let on = if moved { "-B" } else { "-b" };
        let args = ["worktree", "add", "--quiet", "--no-track", on, branch].map(OsStr::new);
        self.run("make a git worktree", args.into_iter().chain([dir.as_os_str(), OsStr::new(commit)])).map(drop)
    }

    /// Points a branch to a commit, and puts the working tree on the branch. Writes no file of the working tree. The branch moves last: if
    /// a call is killed, the next one still finds the branch elsewhere, and repeats it.
    pub(crate) fn be_on(&self, branch: &str, commit: &str) -> Result<()> {
        let name = format!("refs/heads/{branch}");
        // The next look at the files compares their contents. Don't run `update-index --refresh` here, because it would
        // do so with filters.
        self.run("move the worktree to its branch", ["read-tree", "--reset", commit])?;
        self.run("move the worktree to its branch", ["symbolic-ref", "HEAD", &name])?;
        self.update_ref(&name, commit)
    }

    /// Moves what is checked out from one commit to a later one, and sets the index to it. Writes no file of the working tree. `false` if
    /// another commit is checked out.
    pub(crate) fn advance(&self, from: &str, to: &str) -> Result<bool> {
        let reflog = "uwf: files of a group";
        let moved = self.output(["update-ref", "-m", reflog, "HEAD", to, from])?;
        if !moved.status.success() {
            return if self.commit("HEAD")?.as_deref() == Some(from) {
                Err(failed("move the worktree to a commit", &moved))
            } else {
                Ok(false)
            };
        }
        // The next look at the files compares their contents, as after `be_on`.
        self.run("move the worktree to a commit", ["read-tree", "--reset", to])?;
        Ok(true)
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: &str) -> Result<String> {
        self.text("look at a commit", ["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")])
    }

    /// Makes git forget a working tree whose directory is gone, including one left by a git that was killed while
    /// creating it.
    pub(crate) fn forget_worktree(&self, repository: &Path, dir: &Path) -> Result<()> {
        let args = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        // This fails if git does not know the working tree; then there is nothing to remove.
        self.ask(args.into_iter().chain([dir.as_os_str()]))?;
        let Some(name) = dir.file_name() else { return Ok(()) };
        let entry = repository.join("worktrees").join(name);
        match fs::remove_dir_all(&entry) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let said = format!("{}: {error}", entry.display());
                Err(refused("remove git's record of the worktree", &said))
            }
            _ => Ok(()),
        }
    }

    /// The branches and tags that contain a commit, including remote branches.
    pub(crate) fn branches_with(&self, commit: &str) -> Result<Vec<String>> {
        let args =
            ["for-each-ref", "--format=%(refname)", "--contains", commit, "refs/heads", "refs/remotes", "refs/tags"];
        Ok(self.text("look for the branches of a commit", args)?.lines().map(str::to_owned).collect())
    }

    /// Deletes a ref and the refs below it, if they exist.
    pub(crate) fn delete_refs(&self, below: &str) -> Result<()> {
        let names: Vec<String> = self.refs(below)?.into_iter().map(|(name, _)| name).collect();
        self.delete(&names)
    }

    /// Deletes all of these refs or none.
    pub(crate) fn delete(&self, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let lines: String = names.iter().map(|name| format!("delete {name}\n")).collect();
        let git = GitRunner { input: Some(input(lines.as_bytes())?), ..self.again() };
        git.run("delete git refs", ["update-ref", "--stdin"]).map(drop)
    }

    /// The ref of a name and the refs below it, each with its target.
    pub(crate) fn refs(&self, below: &str) -> Result<Vec<(String, String)>> {
        let listed = self.text("list git refs", ["for-each-ref", "--format=%(refname) %(objectname)", below])?;
        let pair = |line: &str| line.split_once(' ').map(|(name, object)| (name.to_owned(), object.to_owned()));
        Ok(listed.lines().filter_map(pair).collect())
    }

    /// Creates a ref, or points it to another commit.
    pub(crate) fn update_ref(&self, name: &str, commit: &str) -> Result<()> {
        self.run("make a git ref", ["update-ref", name, commit]).map(drop)
    }
}
