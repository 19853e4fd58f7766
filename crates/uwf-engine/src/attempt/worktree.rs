//! A thread's own git worktree: a directory below the storage root, on the branch `uwf/<id>`.
//!
//! A thread's settings name its worktree before it exists. If uwf is killed while creating it, `discard` finds in the
//! record everything to clean up.

pub(crate) mod includes;
pub mod setup;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use durable_files::regular;
use json_cas::NodeHash;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::git::{GitCheckout, GitRunner, SnapshotCommit, own_dir};
use crate::attempt::settings::{self, ThreadSettings};
use crate::attempt::snapshot;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::inner_path::{self, InnerPath};
use crate::root::project_files;
use crate::root::worktree::Worktree;

/// A worktree to be created for a thread that is about to begin.
pub struct NewWorktree {
    /// The repository.
    repository: PathBuf,
    /// The commit that its branch begins at.
    base: String,
    /// The commit with the files of the node that the thread begins at, if they differ from `base`.
    files: Option<SnapshotCommit>,
    /// The directory that the files come from.
    from: PathBuf,
    /// The directory in it where agents work; empty for the top.
    inside: InnerPath,
    /// Whether it comes from another machine. Then its branch may already exist here.
    is_arriving: bool,
}

impl NewWorktree {
    /// A worktree of the repository that contains a directory, at its checked out commit.
    ///
    /// # Errors
    /// Errors of git: no repository, no commit.
    pub(crate) fn from_dir(dir: &Path) -> Result<NewWorktree> {
        let GitCheckout { top, inside, repository, commit } = GitCheckout::containing_directory(dir)?;
        Ok(NewWorktree { repository, base: commit, files: None, from: top, inside, is_arriving: false })
    }

    /// A worktree with a step's files from a repository.
    pub(crate) fn of_step(repository: PathBuf, files: SnapshotCommit, from: PathBuf, inside: InnerPath) -> NewWorktree {
        NewWorktree { repository, base: files.head.clone(), files: Some(files), from, inside, is_arriving: false }
    }

    /// A worktree that another machine created, in a clone of its repository.
    pub(crate) fn arriving(repository: PathBuf, base: String, inside: InnerPath) -> NewWorktree {
        let from = checkout_of(&repository);
        NewWorktree { repository, base, files: None, from, inside, is_arriving: true }
    }

    /// The same worktree with these files.
    pub(crate) fn with(self, files: SnapshotCommit) -> NewWorktree {
        NewWorktree { files: Some(files), ..self }
    }

    /// A note for a person who might expect uncommitted changes in it.
    pub(crate) fn left_behind(&self) -> Option<String> {
        // It is only a note.
        let count = GitRunner::for_directory(&self.from).uncommitted().unwrap_or_default();
        let changes =
            if count == 1 { "1 uncommitted change is".to_owned() } else { format!("{count} uncommitted changes are") };
        let (from, commit) = (self.from.display(), short(&self.base));
        (count > 0).then(|| format!("{changes} not in the worktree: it begins at commit {commit} of {from}"))
    }

    /// The worktree for the thread's settings, and the workspace in it.
    pub(crate) fn worktree_for_thread(&self, home: &Home, thread: &ThreadId) -> Result<(Worktree, PathBuf)> {
        let dir = home.worktree_dir(thread);
        let workspace = settings::as_text(self.inside.below(&dir))?;
        let (branch, base, repository) = (branch_of(thread), self.base.clone(), self.repository.clone());
        Ok((Worktree { dir, branch, base, repository }, workspace))
    }

    /// Checks that its branch does not exist yet. A thread that was removed may begin again with the same id, and the branch may have the only
    /// copy of its commits.
    ///
    /// # Errors
    /// `Usage` if it exists; errors of git.
    pub(crate) fn refuse_taken_branch(&self, thread: &ThreadId) -> Result<()> {
        let branch = branch_of(thread);
        if self.is_arriving
            || GitRunner::for_directory(&self.repository).commit(&format!("refs/heads/{branch}"))?.is_none()
        {
            return Ok(());
        }
        let repository = self.repository.display();
        Err(Error::usage(format!(
            "branch {branch} already exists in {repository}, so thread {thread} cannot get a worktree on it"
        ))
        .hint(format!("keep its commits under another name: `git -C {repository} branch -m {branch} NAME`")))
    }

    /// Creates it. `at` is the head that the thread begins at.
    ///
    /// # Errors
    /// `Io`, errors of git, and `Data` if a symbolic link points out of the worktree.
    pub(crate) fn make(&self, home: &Home, thread: &ThreadId, at: NodeHash, workspace: &Path) -> Result<()> {
        let dirs = home.worktrees_dir();
        fs::create_dir_all(&dirs).path_context("create", &dirs)?;
        let origin = home.worktree_origin(thread);
        let from = project_files::origin(home, &self.from);
        regular::write(&origin, from.as_os_str().as_bytes()).path_context("write", &origin)?;
        let (dir, git) = (home.worktree_dir(thread), GitRunner::for_directory(&self.repository));
        git.add_worktree(&dir, &branch_of(thread), &self.base, self.is_arriving)?;
        if let Some(files) = &self.files {
            let scratch = home.worktree_scratch(thread);
            let view = GitRunner::view(&self.repository, &dir, &scratch);
            let restored = view.and_then(|view| view.restore_files(&files.tree));
            gone(fs::remove_dir_all(&scratch)).path_context("remove", &scratch)?;
            restored?;
        }
        make_dir(thread, &dir, workspace)?;
        let files = self.files.as_ref().map_or(&self.base, |files| &files.commit);
        git.update_ref(&snapshot::files_ref(thread, at), files)
    }
}

/// Creates the workspace in a worktree, if no commit contains it. All created directories are inside the worktree.
fn make_dir(thread: &ThreadId, dir: &Path, workspace: &Path) -> Result<()> {
    let mut there = dir;
    for path in workspace.ancestors() {
        match path.symlink_metadata() {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            found => {
                found.path_context("look at", path)?;
                there = path;
                break;
            }
        }
    }
    stays_inside(thread, dir, there)?;
    fs::create_dir_all(workspace).path_context("create", workspace)
}

/// Checks that the worktree exists and contains the workspace, before an agent is paid for work in the wrong directory.
///
/// # Errors
/// `NotFound` without a worktree, `Data` if the workspace is outside it, `Io`.
pub(crate) fn check(thread: &ThreadId, settings: &ThreadSettings) -> Result<()> {
    let Some(worktree) = settings.worktree_in_use() else { return Ok(()) };
    if !is_there(&worktree.dir.join(".git"))? {
        return Err(no_worktree(thread, worktree, settings.branch.is_some()));
    }
    if is_there(&settings.workspace)? { stays_inside(thread, &worktree.dir, &settings.workspace) } else { Ok(()) }
}

/// Checks that no symbolic link points from the workspace out of its worktree.
fn stays_inside(thread: &ThreadId, dir: &Path, workspace: &Path) -> Result<()> {
    if inner_path::is_inside(workspace, dir).path_context("look at", workspace)? {
        return Ok(());
    }
    Err(Error::data(format!(
        "the workspace {} of thread {thread} is outside its worktree {}, because of a symbolic link",
        workspace.display(),
        dir.display()
    ))
    .hint("remove the link, then try again"))
}

fn no_worktree(thread: &ThreadId, worktree: &Worktree, is_branch: bool) -> Error {
    let (dir, repository, branch) = (worktree.dir.display(), worktree.repository.display(), &worktree.branch);
    let error = Error::not_found(format!("the worktree {dir} of thread {thread} is gone"))
        .hint(format!("check its branch out there again: git -C {repository} worktree add -f {dir} {branch}"));
    if is_branch {
        // A fork, or files from elsewhere, would not reach its group.
        return error;
    }
    error
        .hint(format!("`uwf thread fork {thread}` starts a new thread at its newest step"))
        .hint(format!("or let its agents work elsewhere: `uwf thread step {thread} --cwd DIR`"))
}

/// Removes the worktree of a thread with everything in it, its branch, and its recorded files. Parts that are already
/// gone, or were never created, are not an error.
pub(crate) fn discard(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let Worktree { branch, repository, .. } = worktree;
    remove(home, thread, worktree)?;
    if is_there(repository)? {
        let git = GitRunner::for_directory(repository);
        git.delete_refs(&format!("refs/heads/{branch}"))?;
        git.delete_refs(&snapshot::files_refs(thread))?;
    }
    Ok(())
}

/// Removes the directory of a worktree with everything in it; keeps its branch.
fn remove(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let Worktree { dir, repository, branch, .. } = worktree;
    // The record is a file that other programs may have changed, and the directory it names is removed with everything
    // in it.
    if dir.file_name() != home.worktree_dir(thread).file_name() || *branch != branch_of(thread) {
        return Err(Error::data(format!(
            "the record of thread {thread} names {} as its worktree, which it never was",
            dir.display()
        ))
        .hint("nothing was removed; if the directory is not needed, remove it yourself"));
    }
    gone(fs::remove_dir_all(dir)).path_context("remove", dir)?;
    if is_there(repository)? {
        GitRunner::for_directory(repository).forget_worktree(repository, dir)?;
    }
    let (scratch, origin) = (home.worktree_scratch(thread), home.worktree_origin(thread));
    gone(fs::remove_dir_all(&scratch)).path_context("remove", &scratch)?;
    gone(fs::remove_file(&origin)).path_context("remove", &origin)
}

/// The result of removing an unneeded worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedWorktree {
    /// The directory that was removed.
    pub dir: PathBuf,
    /// The branch, if it was kept because no other branch has its commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_branch: Option<String>,
}

/// The loss that removing the directory of a worktree would cause; `None` when branches have all its commits and it has
/// nothing else, or when it is already gone.
pub(crate) fn unsaved(worktree: &Worktree) -> Result<Option<WorktreeKeepReason>> {
    let Worktree { dir, repository, .. } = worktree;
    if !is_there(dir)? {
        return Ok(None);
    }
    if !is_there(repository)? {
        return Ok(Some(WorktreeKeepReason::NoRepository));
    }
    // An agent may have changed `.git`: another repository knows nothing about this one's commits.
    let own = match own_dir(repository, dir) {
        Ok(own) if leads_to(&dir.join(".git"), &own) => own,
        Ok(_) | Err(Error { cause: Some(ErrorCause::OtherRepository), .. }) => {
            return Ok(Some(WorktreeKeepReason::OtherRepository));
        }
        Err(error) => return Err(error),
    };
    if let Some(why) = kept_by_git(&own)? {
        return Ok(Some(why));
    }
    if let Some(why) = out_of_reach(dir)? {
        return Ok(Some(why));
    }
    let scratch = tempfile::tempdir().path_context("create a directory in", std::env::temp_dir())?;
    let view = GitRunner::view(repository, dir, &scratch.path().join("view"))?;
    let count = view.uncommitted()?;
    if count > 0 {
        return Ok(Some(WorktreeKeepReason::Uncommitted(count)));
    }
    let Some(head) = view.commit("HEAD")? else { return Ok(None) };
    Ok(GitRunner::for_directory(repository).branches_with(&head)?.is_empty().then_some(WorktreeKeepReason::OnNoBranch))
}

/// Whether the file `.git` of a working tree points to this directory of its repository.
fn leads_to(file: &Path, own: &Path) -> bool {
    let text = regular::read(file, regular::MAX_TEXT).unwrap_or_default();
    let named = text.strip_prefix(b"gitdir: ").map(|path| PathBuf::from(OsStr::from_bytes(path.trim_ascii_end())));
    named.is_some_and(|named| fs::canonicalize(named).ok() == fs::canonicalize(own).ok())
}

/// Reasons for which git itself would not remove a worktree.
fn kept_by_git(own: &Path) -> Result<Option<WorktreeKeepReason>> {
    if is_there(&own.join("locked"))? {
        return Ok(Some(WorktreeKeepReason::Locked));
    }
    // The commits of submodules exist only here.
    let modules = own.join("modules");
    let has_some = is_there(&modules)? && fs::read_dir(&modules).path_context("list", &modules)?.next().is_some();
    Ok(has_some.then_some(WorktreeKeepReason::Submodules))
}

/// Finds files that git doesn't record: nested repositories, and paths that are too long.
fn out_of_reach(dir: &Path) -> Result<Option<WorktreeKeepReason>> {
    let mut dirs = vec![dir.to_owned()];
    while let Some(at) = dirs.pop() {
        let entries = match fs::read_dir(&at) {
            Err(error) if error.kind() == ErrorKind::InvalidFilename => return Ok(Some(WorktreeKeepReason::TooLong)),
            entries => entries.path_context("list", &at)?,
        };
        for entry in entries {
            let entry = entry.path_context("list", &at)?;
            if entry.file_name() == ".git" {
                if at != dir {
                    return Ok(Some(WorktreeKeepReason::Repository(at)));
                }
            } else if entry.file_type().path_context("look at", entry.path())?.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    Ok(None)
}

/// Why the directory of a worktree must not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeKeepReason {
    /// It has this many uncommitted changes.
    Uncommitted(usize),
    /// No branch has the commit that is checked out.
    OnNoBranch,
    /// Its repository is gone, so this is unknown.
    NoRepository,
    /// It is no longer a worktree of its repository.
    OtherRepository,
    /// This directory in it is a separate repository.
    Repository(PathBuf),
    /// Paths in it are too long for git, which does not record those files.
    TooLong,
    /// Submodules are checked out in it, and their commits may exist only here.
    Submodules,
    /// It is locked.
    Locked,
}

impl fmt::Display for WorktreeKeepReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorktreeKeepReason::Uncommitted(1) => write!(out, "it has 1 uncommitted change"),
            WorktreeKeepReason::Uncommitted(count) => write!(out, "it has {count} uncommitted changes"),
            WorktreeKeepReason::OnNoBranch => write!(out, "its checked-out commit is not on a branch"),
            WorktreeKeepReason::NoRepository => write!(out, "its git repository is gone"),
            WorktreeKeepReason::OtherRepository => write!(out, "it is no longer a worktree of its git repository"),
            WorktreeKeepReason::Repository(dir) => {
                write!(out, "{} in it is a git repository of its own", dir.display())
            }
            WorktreeKeepReason::TooLong => write!(out, "it has files whose paths are too long for git"),
            WorktreeKeepReason::Submodules => write!(out, "submodules are checked out in it"),
            WorktreeKeepReason::Locked => write!(out, "`git worktree lock` keeps it"),
        }
    }
}

/// Removes the worktree of a thread, and its branch if another branch has all its commits. Keeps the recorded files of
/// steps for their nodes, and remembers their repository. The caller must check [`unsaved`] first.
pub(crate) fn remove_saved(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<RemovedWorktree> {
    let Worktree { dir, branch, repository, .. } = worktree;
    if is_there(repository)? {
        snapshot::remember(home, thread, worktree)?;
    }
    remove(home, thread, worktree)?;
    let mut removed = RemovedWorktree { dir: dir.clone(), kept_branch: None };
    if !is_there(repository)? {
        return Ok(removed);
    }
    let (git, own) = (GitRunner::for_directory(repository), format!("refs/heads/{branch}"));
    if let Some(tip) = git.commit(&own)? {
        if git.branches_with(&tip)?.iter().all(|other| *other == own) {
            removed.kept_branch = Some(branch.clone());
        } else {
            git.delete_refs(&own)?;
        }
    }
    Ok(removed)
}

/// Whether a path exists. An unreadable path does not count as missing: otherwise uwf would discard it or work without
/// it.
pub(crate) fn is_there(path: &Path) -> Result<bool> {
    path.try_exists().path_context("look at", path)
}

/// Counts a missing file as removed.
pub(crate) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The main working tree of a repository; the repository itself, if it has none.
pub(crate) fn checkout_of(repository: &Path) -> PathBuf {
    let parent = repository.parent().filter(|_| repository.ends_with(".git"));
    parent.unwrap_or(repository).to_owned()
}

/// The branch of a thread's worktree.
pub(crate) fn branch_of(thread: &ThreadId) -> String {
    format!("uwf/{thread}")
}

/// The short form of a commit's name.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
