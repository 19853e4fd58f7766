//! The files of a thread's worktree after each step: commits in its repository that are on no branch.
//!
//! A ref `refs/uwf/<thread>/<node>` points from a node of the thread to its files, and protects them from git's garbage
//! collection. A step has a tree of files for each thread that reached it: equal threads share nodes, but not
//! worktrees.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use durable_files::regular;
use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::attempt::git::{GitRunner, SnapshotCommit, SnapshotTree};
use crate::attempt::recorded::AttemptOpening;
use crate::error::{AtPath, Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::inner_path::InnerPath;
use crate::root::worktree::Worktree;

/// Whether the files that a step left in its worktree were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepFiles {
    /// They were recorded in the repository.
    #[serde(rename_all = "camelCase")]
    Recorded {
        /// The git tree of the files.
        tree: String,
        /// The commit of that tree.
        commit: String,
        /// Why some files are missing from it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<String>,
        /// Whether they were pushed; absent without a remote.
        #[serde(flatten)]
        pushed: Option<PushedFiles>,
    },
    /// They were not recorded.
    #[serde(rename_all = "camelCase")]
    NotRecorded {
        /// The reason.
        not_recorded: String,
    },
}

impl StepFiles {
    /// Their tree.
    pub(crate) fn tree(&self) -> Option<&str> {
        match self {
            StepFiles::Recorded { tree, .. } => Some(tree),
            StepFiles::NotRecorded { .. } => None,
        }
    }
}

/// Whether files were pushed to a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PushedFiles {
    /// They were pushed to this remote.
    PushedTo(String),
    /// They were not pushed, for this reason.
    NotPushed(String),
}

/// Records the files of a worktree after the step at a node.
pub(crate) fn take(home: &Home, worktree: &Worktree, opened: &AttemptOpening, node: NodeHash) -> Result<StepFiles> {
    let scratch = home.attempts_dir(&opened.thread).join(format!("{}.files", opened.attempt));
    let kept = GitRunner::view(&worktree.repository, &worktree.dir, &scratch).and_then(|view| view.keep_files());
    // The sweep of the attempt's files removes any rest.
    let _ = fs::remove_dir_all(&scratch);
    let SnapshotTree { tree, left_out } = kept?;
    let git = GitRunner::of_worktree(&worktree.repository, &worktree.dir)?;
    let head = git.commit("HEAD")?;
    let name = files_ref(&opened.thread, node);
    // The files of a step that is taken over may already be recorded and pushed.
    if let Some(known) = git.kept(&name)?
        && known.tree == tree
        && Some(&known.head) == head.as_ref()
    {
        return Ok(StepFiles::Recorded { tree, commit: known.commit, left_out, pushed: None });
    }
    let before = git.commit(&files_ref(&opened.thread, opened.expected_head))?;
    let parents: Vec<&str> = [&before, &head].into_iter().flatten().map(String::as_str).collect();
    let AttemptOpening { thread, role, workspace, .. } = opened;
    let title = format!("uwf: {role} in thread {thread}");
    let text = message(&title, thread, node, head.as_deref(), worktree.inside(workspace));
    let commit = git.commit_tree(&tree, &parents, &text)?;
    git.update_ref(&name, &commit)?;
    Ok(StepFiles::Recorded { tree, commit, left_out, pushed: None })
}

/// Names the thread and its first node in the commit with the files that the thread begins with, so that other machines
/// can find them.
pub(crate) fn mark_start(worktree: &Worktree, thread: &ThreadId, at: NodeHash, workspace: &Path) -> Result<()> {
    let (git, name) = (GitRunner::for_directory(&worktree.repository), files_ref(thread, at));
    let Some(SnapshotCommit { commit, tree, head, .. }) = git.kept(&name)? else { return Ok(()) };
    let title = format!("uwf: thread {thread} begins");
    let text = message(&title, thread, at, Some(&head), worktree.inside(workspace));
    git.update_ref(&name, &git.commit_tree(&tree, &[&commit], &text)?)
}

/// The line in such a commit's message that names its thread.
pub(crate) fn thread_line(thread: &ThreadId) -> String {
    format!("Uwf-Thread: {thread}")
}

/// The line that names the node of its files.
pub(crate) fn node_line(node: NodeHash) -> String {
    format!("Uwf-Step: {node}")
}

/// The message of a commit with files that belong to a group of a thread, and to no node.
pub(crate) fn group_message(title: &str, thread: &ThreadId, checkout: GroupCheckout<'_>) -> String {
    let line = |key: &str, value: Option<&str>| value.map(|value| format!("{key}: {value}\n")).unwrap_or_default();
    let GroupCheckout { head, branch, left_out } = checkout;
    let more = [line("Uwf-Head", head), line("Uwf-Branch", branch), line("Uwf-Left-Out", left_out)].concat();
    format!("{title}\n\n{}\n{more}", thread_line(thread))
}

/// The checkout that the files of a group belong to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GroupCheckout<'c> {
    /// The commit that is checked out.
    pub(crate) head: Option<&'c str>,
    /// The git branch that is checked out.
    pub(crate) branch: Option<&'c str>,
    /// Why some files are missing from the tree, in one line.
    pub(crate) left_out: Option<&'c str>,
}

fn message(title: &str, thread: &ThreadId, node: NodeHash, head: Option<&str>, inside: Option<InnerPath>) -> String {
    let mut text = format!("{title}\n\n{}\n{}\n", thread_line(thread), node_line(node));
    if let Some(head) = head {
        text.push_str(&format!("Uwf-Head: {head}\n"));
    }
    if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
        text.push_str(&format!("Uwf-Directory: {inside}\n"));
    }
    text
}

/// A thread's files at a node, from a repository: the thread's own, otherwise the newest of another thread that reached
/// the node.
pub(crate) fn find(repository: &Path, thread: Option<&ThreadId>, node: NodeHash) -> Result<Option<SnapshotCommit>> {
    let git = GitRunner::for_directory(repository);
    let own = thread.map(|thread| git.kept(&files_ref(thread, node))).transpose()?.flatten();
    match own {
        Some(kept) => Ok(Some(kept)),
        None => Ok(git.kept(&format!("refs/uwf/*/{node}"))?),
    }
}

/// The repository with the files of a node, of any thread: the repository of a directory, otherwise one from which a
/// thread has a worktree. Looks at each repository once, even if several threads share it.
pub(crate) fn find_anywhere(home: &Home, dir: &Path, node: NodeHash) -> Result<Option<(PathBuf, SnapshotCommit)>> {
    let mut seen = BTreeSet::new();
    for place in [dir.to_owned()].into_iter().chain(origins(home)) {
        let repository = match GitRunner::for_directory(&place).repository() {
            // It is not a repository, or no longer one.
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

/// The directories that worktrees were created from, without duplicates.
fn origins(home: &Home) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(home.worktrees_dir()).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter_map(|entry| Some(PathBuf::from(OsString::from_vec(fs::read(entry.path()).ok()?)))).collect()
}

/// Remembers the repository with the files of a thread whose worktree is about to be removed.
pub(crate) fn remember(home: &Home, thread: &ThreadId, worktree: &Worktree) -> Result<()> {
    let (dir, path) = (home.worktrees_dir(), home.refs_left(thread));
    fs::create_dir_all(&dir).path_context("create", &dir)?;
    regular::write(&path, worktree.repository.as_os_str().as_bytes()).path_context("write", &path)
}

fn remembered(home: &Home, thread: &ThreadId) -> Result<PathBuf> {
    let path = home.refs_left(thread);
    let bytes = regular::read(&path, regular::MAX_TEXT).path_context("read", &path)?;
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The remaining refs of a thread whose worktree was removed, each with its node.
///
/// # Errors
/// `Io`, errors of git: the repository may be on a disk that is not mounted.
pub(crate) fn refs_left(home: &Home, thread: &ThreadId) -> Result<Vec<(String, NodeHash)>> {
    let repository = remembered(home, thread)?;
    let refs = GitRunner::for_directory(&repository).refs(&files_refs(thread))?;
    let node = |name: &String| name.rsplit('/').next()?.parse().ok();
    Ok(refs.into_iter().filter_map(|(name, _)| Some((node(&name)?, name))).map(|(node, name)| (name, node)).collect())
}

/// Deletes some of them, and forgets the repository if they are the last ones.
pub(crate) fn delete_left(home: &Home, thread: &ThreadId, refs: &[String], are_last: bool) -> Result<()> {
    let repository = remembered(home, thread)?;
    let git = GitRunner::for_directory(&repository);
    git.delete(refs)?;
    if are_last {
        // The other refs hold former contents of the worktree, which belong to no node.
        git.delete_refs(&files_refs(thread))?;
        let path = home.refs_left(thread);
        fs::remove_file(&path).path_context("remove", &path)?;
    }
    Ok(())
}

/// The ref with a thread's files at a node.
pub(crate) fn files_ref(thread: &ThreadId, node: NodeHash) -> String {
    format!("{}/{node}", files_refs(thread))
}

/// The ref with the contents of a worktree before a node's files from another machine replaced them.
pub(crate) fn replaced_ref(thread: &ThreadId, node: NodeHash) -> String {
    format!("{}/before-{node}", files_refs(thread))
}

/// Prefix of all refs with a thread's files.
pub(crate) fn files_refs(thread: &ThreadId) -> String {
    format!("refs/uwf/{thread}")
}
