//! The files of a thread's worktree as each step left them: commits in its repository that are on no branch.
//!
//! A ref `refs/uwf/<thread>/<node>` leads from a node of the thread to its files, and keeps them from git's own collection of
//! garbage. A step has a tree of files for each thread that came to it: equal threads share their nodes, but not their worktrees.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use durable_files::regular;
use json_cas::Hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::attempt::git::{Files, Git, Kept};
use crate::attempt::recorded::Opened;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::inner_path::InnerPath;
use crate::root::worktree::Worktree;

/// What became of the files that a step left in its worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepFiles {
    /// They are in the repository.
    #[serde(rename_all = "camelCase")]
    Recorded {
        /// The tree of git that has them.
        tree: String,
        /// The commit that has the tree.
        commit: String,
        /// Why some files are not in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<String>,
        /// Whether they are at the remote, too; absent when there is none.
        #[serde(flatten)]
        pushed: Option<PushedFiles>,
    },
    /// They are not.
    #[serde(rename_all = "camelCase")]
    NotRecorded {
        /// Why.
        not_recorded: String,
    },
}

impl StepFiles {
    /// The tree that has them.
    pub(crate) fn tree(&self) -> Option<&str> {
        match self {
            StepFiles::Recorded { tree, .. } => Some(tree),
            StepFiles::NotRecorded { .. } => None,
        }
    }
}

/// What became of files that were to be pushed to a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PushedFiles {
    /// They are at this remote.
    PushedTo(String),
    /// They are not, and why.
    NotPushed(String),
}

/// Records the files of a worktree as a step at a node leaves them. `before` is the node before, `workspace` the directory in the
/// worktree that was worked in.
///
/// # Errors
/// Those of git.
pub(crate) fn take(home: &Home, worktree: &Worktree, opened: &Opened, node: Hash) -> Result<StepFiles> {
    let scratch = home.attempts_dir(&opened.thread).join(format!("{}.files", opened.attempt));
    let kept = Git::view(&worktree.repository, &worktree.dir, &scratch).and_then(|view| view.keep_files());
    // What is left of it is swept with the files of the attempt.
    let _ = fs::remove_dir_all(&scratch);
    let Files { tree, left_out } = kept?;
    let git = Git::of_worktree(&worktree.repository, &worktree.dir)?;
    let head = git.commit("HEAD")?;
    let name = files_ref(&opened.thread, node);
    // Of a step that is taken over they may have been recorded, and pushed.
    if let Some(known) = git.kept(&name)?
        && known.tree == tree
        && Some(&known.head) == head.as_ref()
    {
        return Ok(StepFiles::Recorded { tree, commit: known.commit, left_out, pushed: None });
    }
    let before = git.commit(&files_ref(&opened.thread, opened.expected_head))?;
    let parents: Vec<&str> = [&before, &head].into_iter().flatten().map(String::as_str).collect();
    let Opened { thread, role, workspace, .. } = opened;
    let title = format!("uwf: {role} in thread {thread}");
    let text = message(&title, thread, node, head.as_deref(), worktree.inside(workspace));
    let commit = git.commit_tree(&tree, &parents, &text)?;
    git.update_ref(&name, &commit)?;
    Ok(StepFiles::Recorded { tree, commit, left_out, pushed: None })
}

/// Lets the files that a thread begins with be known by its id and node to whoever fetches them.
///
/// # Errors
/// Those of git.
pub(crate) fn mark_start(worktree: &Worktree, thread: &ThreadId, at: Hash, workspace: &Path) -> Result<()> {
    let (git, name) = (Git::at(&worktree.repository), files_ref(thread, at));
    let Some(Kept { commit, tree, head, .. }) = git.kept(&name)? else { return Ok(()) };
    let title = format!("uwf: thread {thread} begins");
    let text = message(&title, thread, at, Some(&head), worktree.inside(workspace));
    git.update_ref(&name, &git.commit_tree(&tree, &[&commit], &text)?)
}

/// The line of such a commit's message that says which thread it is of.
pub(crate) fn thread_line(thread: &ThreadId) -> String {
    format!("Uwf-Thread: {thread}")
}

/// The line that says which node it has the files of.
pub(crate) fn node_line(node: Hash) -> String {
    format!("Uwf-Step: {node}")
}

fn message(title: &str, thread: &ThreadId, node: Hash, head: Option<&str>, inside: Option<InnerPath>) -> String {
    let mut text = format!("{title}\n\n{}\n{}\n", thread_line(thread), node_line(node));
    if let Some(head) = head {
        text.push_str(&format!("Uwf-Head: {head}\n"));
    }
    if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
        text.push_str(&format!("Uwf-Directory: {inside}\n"));
    }
    text
}

/// The files of a thread at a node, as a repository has them: those of the thread itself, else of any other that came to the
/// node, the newest.
///
/// # Errors
/// Those of git.
pub(crate) fn find(repository: &Path, thread: Option<&ThreadId>, node: Hash) -> Result<Option<Kept>> {
    let git = Git::at(repository);
    let own = thread.map(|thread| git.kept(&files_ref(thread, node))).transpose()?.flatten();
    match own {
        Some(kept) => Ok(Some(kept)),
        None => Ok(git.kept(&format!("refs/uwf/*/{node}"))?),
    }
}

/// The repository that has the files of a node, whichever thread it is of: that of a directory, else one that a thread has a
/// worktree of. A repository is looked at once, however many threads have worktrees of it.
///
/// # Errors
/// Those of git.
pub(crate) fn find_anywhere(home: &Home, dir: &Path, node: Hash) -> Result<Option<(PathBuf, Kept)>> {
    let mut seen = BTreeSet::new();
    for place in [dir.to_owned()].into_iter().chain(origins(home)) {
        let repository = match Git::at(&place).repository() {
            // It is none, or none any more.
            Err(Error { cause: Some(ErrorCause::GitFailed), .. }) => continue,
            repository => repository?,
        };
        if !seen.insert(repository.clone()) {
            continue;
        }
        if let Some(kept) = find(&repository, None, node)? {
            return Ok(Some((repository, kept)));
        }
    }
    Ok(None)
}

/// The directories that worktrees were made from, each once.
fn origins(home: &Home) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(home.worktrees_dir()).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter_map(|entry| Some(PathBuf::from(OsString::from_vec(fs::read(entry.path()).ok()?)))).collect()
}

/// Remembers which repository has the files of a thread whose worktree goes away.
///
/// # Errors
/// `Io`.
pub(crate) fn remember(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let (dir, path) = (home.worktrees_dir(), home.refs_left(thread));
    fs::create_dir_all(&dir).at("create", &dir)?;
    regular::write(&path, worktree.repository.as_os_str().as_bytes()).at("write", &path)
}

fn remembered(home: &Home, thread: &ThreadId) -> Result<PathBuf> {
    let path = home.refs_left(thread);
    let bytes = regular::read(&path, regular::MAX_TEXT).at("read", &path)?;
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The refs that a repository still has of a thread whose worktree is gone, each with its node.
///
/// # Errors
/// `Io`, those of git: the repository may be on a disk that is not there now.
pub(crate) fn refs_left(home: &Home, thread: &ThreadId) -> Result<Vec<(String, Hash)>> {
    let repository = remembered(home, thread)?;
    let refs = Git::at(&repository).refs(&files_refs(thread))?;
    let node = |name: &String| name.rsplit('/').next()?.parse().ok();
    Ok(refs.into_iter().filter_map(|(name, _)| Some((node(&name)?, name))).map(|(node, name)| (name, node)).collect())
}

/// Deletes some of them; of the last ones nothing is remembered any more.
///
/// # Errors
/// `Io`, those of git.
pub(crate) fn delete_left(home: &Home, thread: &ThreadId, refs: &[String], are_last: bool) -> Result<()> {
    let repository = remembered(home, thread)?;
    let git = Git::at(&repository);
    git.delete(refs)?;
    if are_last {
        // What is left was in the worktree and is of no node.
        git.delete_refs(&files_refs(thread))?;
        let path = home.refs_left(thread);
        fs::remove_file(&path).at("remove", &path)?;
    }
    Ok(())
}

/// Where the repository has the files of a thread at a node.
pub(crate) fn files_ref(thread: &ThreadId, node: Hash) -> String {
    format!("{}/{node}", files_refs(thread))
}

/// Where it has what was in a worktree before the files of a node came there from another machine.
pub(crate) fn replaced_ref(thread: &ThreadId, node: Hash) -> String {
    format!("{}/before-{node}", files_refs(thread))
}

/// Where it has all files of a thread.
pub(crate) fn files_refs(thread: &ThreadId) -> String {
    format!("refs/uwf/{thread}")
}
