//! Keeps the files of a working tree as a commit that is on no branch, and restores them. Never writes to the person's
//! index.

use std::path::{Path, PathBuf};

use uwf_core::text::{ellipsize, one_line};

use super::{GitRunner, failed, said};
use crate::error::{Error, Result};
use crate::root::inner_path::InnerPath;
use crate::root::worktree::is_commit;

/// Format of `git show` for a snapshot: its tree, then its trailers.
const SHOWN: &str = "--format=%T%x00%(trailers:key=Uwf-Head,valueonly)%x00%(trailers:key=Uwf-Directory,valueonly)%x00%(trailers:key=Uwf-Branch,valueonly)%x00%(trailers:key=Uwf-Left-Out,valueonly)";

/// Format of `git log -z` for the snapshots of steps: an empty part, the title, and a trailer.
const LISTED: &str = "--format=%x00%s%x00%(trailers:key=Uwf-Step,valueonly)";

/// Author of commits that are on no branch, because they are not a person's work.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "uwf"),
    ("GIT_AUTHOR_EMAIL", "uwf@localhost"),
    ("GIT_COMMITTER_NAME", "uwf"),
    ("GIT_COMMITTER_EMAIL", "uwf@localhost"),
];

/// Mode of an entry that is a commit of another repository.
const GITLINK: &str = "160000";

/// Most characters kept of git's message about files that it left out.
const MOST_SAID: usize = 400;

/// Exit code of `git add` when it left some files out and added the rest.
const SOME_LEFT_OUT: i32 = 1;

/// The files that a role changed in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepChange {
    /// The role.
    pub(crate) role: String,
    /// Paths of the files.
    pub(crate) paths: Vec<String>,
}

/// The files of a working tree, as git keeps them.
pub(crate) struct SnapshotTree {
    /// The tree of all files that git does not ignore.
    pub(crate) tree: String,
    /// Why some files are missing from it.
    pub(crate) left_out: Option<String>,
}

impl SnapshotTree {
    /// Why some files are missing, in one line.
    pub(crate) fn left_out_line(&self) -> Option<String> {
        self.left_out.as_deref().map(|why| one_line(why.trim()))
    }
}

/// A commit that holds files, with its parsed parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SnapshotCommit {
    /// The commit.
    pub(crate) commit: String,
    /// The files.
    pub(crate) tree: String,
    /// The commit that was checked out at that time.
    pub(crate) head: String,
    /// The working directory below the top; empty for the top.
    pub(crate) directory: InnerPath,
    /// The git branch that was checked out, if the snapshot has it.
    pub(crate) branch: Option<String>,
    /// Why some files are missing, in one line, if the snapshot has it.
    pub(crate) left_out: Option<String>,
}

impl GitRunner<'_> {
    /// Stores the files of the working tree in the repository; call it on a [`GitRunner::view`].
    pub(crate) fn keep_files(&self) -> Result<SnapshotTree> {
        let added = self.output(["add", "--all", "--ignore-errors"])?;
        let nested = self.new_repositories()?;
        let left_out = match added.status.code() {
            Some(0) if !nested.is_empty() => Some(format!("{}: a git repository of its own", nested.join(", "))),
            // Git skips directories that it can't open, prints that, and still succeeds.
            Some(0) => Some(said(&added)).filter(|said| said.contains("could not open directory")),
            Some(SOME_LEFT_OUT) => Some(said(&added)),
            _ => return Err(failed("record the files", &added)),
        };
        let left_out = left_out.map(|why| ellipsize(&why, MOST_SAID).into_owned());
        Ok(SnapshotTree { tree: self.text("record the files", ["write-tree"])?, left_out })
    }

    /// The tree of all files of the working tree that git does not ignore; call it on a [`GitRunner::view`].
    ///
    /// # Errors
    /// `Usage` when git would leave files out.
    pub(crate) fn all_files(&self) -> Result<String> {
        self.run("add the changes of the worktree", ["add", "--all"])?;
        let repositories = self.new_repositories()?;
        if !repositories.is_empty() {
            return Err(nested(self.dir, &repositories));
        }
        self.text("add the changes of the worktree", ["write-tree"])
    }

    /// Repositories in the index that the commit lacks, without submodules. For a repository, git keeps the id of a
    /// commit and no files.
    pub(crate) fn new_repositories(&self) -> Result<Vec<String>> {
        // Without a commit it compares with no files.
        let compare = ["diff", "--cached", "--ignore-submodules=none"];
        self.repositories_in(&compare, ["--file", ".gitmodules"])
    }

    /// Repositories in a tree that an earlier tree lacks, without submodules.
    pub(crate) fn repositories_between(&self, earlier: &str, tree: &str) -> Result<Vec<String>> {
        self.repositories_in(&["diff-tree", "-r", earlier, tree], ["--blob", &format!("{tree}:.gitmodules")])
    }

    /// Repositories that a comparison shows as new, without submodules. `modules` are the options of `git config` that name the file with
    /// the submodules.
    fn repositories_in(&self, compare: &[&str], [option, modules]: [&str; 2]) -> Result<Vec<String>> {
        let args = compare.iter().chain(&["--raw", "--no-renames", "--no-abbrev", "-z"]).copied();
        let listed = self.text("look for repositories in the worktree", args)?;
        let mut parts = listed.split_terminator('\0');
        let mut found = Vec::new();
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            // `:OLD-MODE NEW-MODE …`
            let mut modes = change.trim_start_matches(':').split(' ');
            let (before, after) = (modes.next().unwrap_or_default(), modes.next().unwrap_or_default());
            if after == GITLINK && before != GITLINK {
                found.push(path.to_owned());
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        let declared = ["config", option, modules, "--get-regexp", r"^submodule\..*\.path$"];
        let listed = self.output(declared).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let listed = listed.unwrap_or_default();
        let submodules: Vec<&str> = listed.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        found.retain(|path| !submodules.contains(&path.as_str()));
        Ok(found)
    }

    /// Makes the files of the working tree equal to a tree, including untracked files; call it on a [`GitRunner::view`].
    /// Leaves ignored files unchanged.
    pub(crate) fn restore_files(&self, tree: &str) -> Result<()> {
        // Files that this leaves out stay as they are.
        self.output(["add", "--all", "--ignore-errors"])?;
        self.run("restore the files", ["read-tree", "--reset", "-u", tree]).map(drop)
    }

    /// Creates a commit of a tree on no branch.
    pub(crate) fn commit_tree(&self, tree: &str, parents: &[&str], message: &str) -> Result<String> {
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let args = ["commit-tree", tree, "-m", message].into_iter().chain(parents);
        let git = GitRunner { author: &AUTHOR, ..self.again() };
        git.text("record the files", args)
    }

    /// The parsed commit of a ref, or of the newest ref that a pattern matches; `None` without such a ref.
    pub(crate) fn kept(&self, pattern: &str) -> Result<Option<SnapshotCommit>> {
        let newest = ["for-each-ref", "--count=1", "--sort=-creatordate", "--format=%(objectname)", pattern];
        let commit = self.text("look for recorded files", newest)?;
        if commit.is_empty() { Ok(None) } else { self.kept_in(&commit).map(Some) }
    }

    /// The parsed parts of a commit.
    ///
    /// # Errors
    /// `Data` if uwf didn't write the commit message.
    pub(crate) fn kept_in(&self, commit: &str) -> Result<SnapshotCommit> {
        let commit = commit.to_owned();
        let shown = self.text("look at recorded files", ["show", "--no-patch", SHOWN, &commit])?;
        let mut parts = shown.split('\0').map(str::trim);
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (tree, head, directory, branch, left_out) = (part(), part(), part(), part(), part());
        let head = if head.is_empty() { commit.clone() } else { head };
        if !is_commit(&head) {
            return Err(strange(&commit, &head));
        }
        let directory = InnerPath::try_from(PathBuf::from(&directory)).map_err(|_| strange(&commit, &directory))?;
        let [branch, left_out] = [branch, left_out].map(|text| Some(text).filter(|text| !text.is_empty()));
        Ok(SnapshotCommit { commit, tree, head, directory, branch, left_out })
    }

    /// The changes of the steps whose snapshots are between two commits, oldest first.
    pub(crate) fn step_changes(&self, base: &str, last: &str) -> Result<Vec<StepChange>> {
        let range = format!("{base}..{last}");
        let args = ["log", "--reverse", "--first-parent", "-m", "--no-renames", "--name-only", "-z", LISTED, &range];
        Ok(read_changes(&self.text("look at recorded files", args)?))
    }

    /// The trees of the commits that the refs below a name point to.
    pub(crate) fn trees_below(&self, below: &str) -> Result<Vec<String>> {
        let listed = self.text("list git refs", ["for-each-ref", "--format=%(tree)", below])?;
        Ok(listed.lines().map(str::to_owned).collect())
    }
}

/// Parses the output of such a `git log`. Commits by a role are left out: the next snapshot has their changes.
fn read_changes(listed: &str) -> Vec<StepChange> {
    let mut parts = listed.split('\0').peekable();
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        if !part.is_empty() {
            continue;
        }
        let (Some(title), Some(step)) = (parts.next(), parts.next()) else { break };
        let mut paths = Vec::new();
        while let Some(path) = parts.next_if(|part| !part.is_empty()) {
            paths.push(path.trim_start_matches('\n').to_owned());
        }
        if let Some(role) = snapshot_role(title).filter(|_| !step.trim().is_empty()) {
            found.push(StepChange { role: role.to_owned(), paths });
        }
    }
    found
}

/// The role in the title of a step's snapshot.
fn snapshot_role(title: &str) -> Option<&str> {
    Some(title.strip_prefix("uwf: ")?.rsplit_once(" in thread ")?.0)
}

fn nested(dir: &Path, repositories: &[String]) -> Error {
    let are = if repositories.len() == 1 { "is a git repository" } else { "are git repositories" };
    let git_dir = dir.join(repositories.first().map_or("", String::as_str)).join(".git");
    Error::usage(format!(
        "{} in {} {are} of its own, and git would leave the files out",
        repositories.join(", "),
        dir.display()
    ))
    .hint(format!("to commit its files with the others, move {} away", git_dir.display()))
    .hint("to keep it, copy it to another place or push it")
}

fn strange(commit: &str, said: &str) -> Error {
    Error::data(format!("commit {commit} was not written by uwf: its message names `{}`", said.escape_debug()))
        .hint("inspect it with `git show`: a user with access to the repository or its remote wrote it")
}
