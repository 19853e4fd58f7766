//! `thread diff`: how outputs and files differ between two steps, or two threads.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use serde::Serialize;
use serde_json::Value;
use uwf_core::node::NodeKind;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::workflow::GROUP_AGENT;

pub use crate::attempt::git::{FileChange, GitPatch};
use crate::attempt::git::{GitRunner, SnapshotCommit};
use crate::attempt::settings::ThreadSettings;
use crate::attempt::{snapshot, travel};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::chain::StepChain;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::steps::{self, StepParts};
use crate::verbs::rm::worktrees;

/// A thread or a step to compare, as the person named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffSubject {
    /// A thread: all its steps, and the files at its head.
    Thread(ThreadId),
    /// A step, or the start of a thread.
    Node(NodeHash),
}

/// The differences to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffOptions {
    /// The outputs.
    pub outputs: bool,
    /// The files.
    pub files: bool,
    /// The text of the differences, not only the number of lines.
    pub patch: bool,
}

/// How two steps or threads differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// The first.
    pub a: DiffSide,
    /// The second.
    pub b: DiffSide,
    /// Outputs that differ; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<ComparedOutputs>>,
    /// The files; absent if not requested or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<ComparedFiles>,
    /// Why the files are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_files: Option<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    /// The thread, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The step, or the start, whose files are compared.
    pub step: NodeHash,
}

/// Two outputs that differ, or an output that only one thread has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedOutputs {
    /// The output of the first.
    pub a: Option<DiffStepOutput>,
    /// The output of the second.
    pub b: Option<DiffStepOutput>,
    /// The values that differ.
    pub changes: Vec<OutputChange>,
}

/// The output of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffStepOutput {
    /// Position of the step in its thread, from 1; absent when single steps are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The step.
    pub step: NodeHash,
    /// Its role.
    pub role: String,
    /// Name of the branch, if the step is of a group and only this branch is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The output.
    pub output: Value,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputChange {
    /// JSON pointer to it.
    pub at: String,
    /// Value in the first, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Value>,
    /// Value in the second, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Value>,
}

/// How the files differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedFiles {
    /// The tree of the first.
    pub a: String,
    /// The tree of the second.
    pub b: String,
    /// The files that differ.
    pub changed: Vec<FileChange>,
    /// The differences, as git prints them; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<GitPatch>,
    /// Whether the text of the patch is lossy, because the patch has bytes that are not UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patch_is_lossy: bool,
}

/// Number of changed files, and of added and removed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSums {
    /// Changed files.
    pub files: usize,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
}

impl ComparedFiles {
    /// The sums of all changed files. A binary file has no lines.
    #[must_use]
    pub fn sums(&self) -> FileSums {
        let add = |sums: FileSums, file: &FileChange| FileSums {
            files: sums.files + 1,
            added: sums.added + file.added.unwrap_or(0),
            removed: sums.removed + file.removed.unwrap_or(0),
        };
        self.changed.iter().fold(FileSums::default(), add)
    }
}

/// Compares two steps, or two threads. Without `b`, compares the newest step of `a` with the step before. For two threads, compares the
/// outputs of the steps that they do not share, each with the output at the same position, and groups branch by branch.
///
/// # Errors
/// Errors of the nodes and of git; `NotFound` when only files are requested and they are unknown; `Usage` for the start of a thread alone.
pub fn compare(
    home: &Home,
    a: &DiffSubject,
    b: Option<&DiffSubject>,
    wanted: DiffOptions,
    cwd: &Path,
) -> Result<DiffReport> {
    let one = load(home, a)?;
    let (one, a, other, b) = match b {
        Some(b) => (one, a.clone(), load(home, b)?, b.clone()),
        None => {
            let Some(step) = &one.last else { return Err(nothing_before(one.head)) };
            let before = Thread::load_at(home, one.id.clone(), step.prev.unwrap_or(one.start_hash))?;
            (before, a.clone(), one, a.clone())
        }
    };
    let is_whole = matches!((&a, &b), (DiffSubject::Thread(one), DiffSubject::Thread(other)) if one != other);
    let outputs = match (wanted.outputs, is_whole) {
        (false, _) => None,
        (true, true) => Some(of_threads(&one, &other)?),
        (true, false) => Some(differing(home, newest(&one)?, newest(&other)?)?),
    };
    let sides = [side(&a, &one), side(&b, &other)];
    let (files, no_files) = match wanted.files.then(|| compare_files(home, &sides, wanted.patch, cwd)) {
        None => (None, None),
        Some(Err(error)) if wanted.outputs => (None, Some(error.message)),
        Some(files) => (Some(files?), None),
    };
    let [a, b] = sides;
    Ok(DiffReport { a, b, outputs, files, no_files })
}

fn load<'h>(home: &'h Home, named: &DiffSubject) -> Result<Thread<'h>> {
    Ok(match named {
        DiffSubject::Thread(id) => Thread::any(home, id)?,
        DiffSubject::Node(node) => Thread::load_at(home, ids::new_thread_id(), *node)?,
    })
}

fn side(named: &DiffSubject, thread: &Thread<'_>) -> DiffSide {
    let id = match named {
        DiffSubject::Thread(id) => Some(id.clone()),
        DiffSubject::Node(_) => None,
    };
    DiffSide { thread: id, step: thread.head }
}

/// The output of a thread's newest step; `None` at its start.
fn newest(thread: &Thread<'_>) -> Result<Option<DiffStepOutput>> {
    // A step that was named by its hash belongs to no thread with a cached chain.
    let Some(last) = &thread.last else { return Ok(None) };
    let node = (last.clone(), thread.head_timestamp_ms);
    let Step { hash, role, output, .. } = steps::of_node(thread.home().store(), 0, thread.head, node, StepParts::NONE)?;
    Ok(Some(DiffStepOutput { index: None, step: hash, role, branch: None, output }))
}

fn output(thread: &Thread<'_>, index: usize) -> Result<DiffStepOutput> {
    let Step { index, hash, role, output, .. } = thread.step(index, StepParts::NONE)?;
    Ok(DiffStepOutput { index: Some(index), step: hash, role, branch: None, output })
}

/// The outputs of two threads from where they diverge.
fn of_threads(one: &Thread<'_>, other: &Thread<'_>) -> Result<Vec<ComparedOutputs>> {
    let (steps, others) = (one.chain()?, other.chain()?);
    let at = |chain: &StepChain, index| chain.get(index).map(|record| record.step);
    let mut found = Vec::new();
    for index in 0..steps.len().max(others.len()) {
        if at(steps, index) == at(others, index) {
            continue;
        }
        let a = (index < steps.len()).then(|| output(one, index)).transpose()?;
        let b = (index < others.len()).then(|| output(other, index)).transpose()?;
        found.extend(differing(one.home(), a, b)?);
    }
    Ok(found)
}

/// Compares two outputs: for groups, branch by branch; otherwise as a whole.
fn differing(home: &Home, a: Option<DiffStepOutput>, b: Option<DiffStepOutput>) -> Result<Vec<ComparedOutputs>> {
    let [mut one, other] = [&a, &b].map(|output| output.as_ref().map(|output| of_branches(home, output)));
    let (Some(one), Some(other)) = (one.take().transpose()?.flatten(), other.transpose()?.flatten()) else {
        return Ok(difference(a, b).into_iter().collect());
    };
    let mut pairs = Vec::new();
    let mut others = other;
    for branch in one {
        let same = others.iter().position(|output| output.branch == branch.branch);
        let pair = same.map(|index| others.remove(index));
        pairs.extend(difference(Some(branch), pair));
    }
    pairs.extend(others.into_iter().filter_map(|added| difference(None, Some(added))));
    // The output of a group of copies is the best of them.
    let is_alike = pairs.is_empty();
    pairs.extend(difference(a, b).filter(|_| is_alike));
    Ok(pairs)
}

/// The outputs of a group's branches; `None` if the role is not a group.
fn of_branches(home: &Home, group: &DiffStepOutput) -> Result<Option<Vec<DiffStepOutput>>> {
    let (step, _) = nodes::step_node(home.store(), group.step)?;
    let detail = nodes::get(home.store(), step.detail)?;
    if step.agent != GROUP_AGENT || NodeKind::from_type_hash(detail.type_hash) != Some(NodeKind::StepNode) {
        return Ok(None);
    }
    let mut outputs = Vec::new();
    let mut at = Some(step.detail);
    while let Some(hash) = at {
        let (branch, _) = nodes::step_node(home.store(), hash)?;
        outputs.push(DiffStepOutput {
            index: group.index,
            step: group.step,
            role: group.role.clone(),
            branch: Some(branch.role),
            output: nodes::get(home.store(), branch.output)?.payload,
        });
        at = branch.prev;
    }
    outputs.reverse();
    Ok(Some(outputs))
}

fn difference(a: Option<DiffStepOutput>, b: Option<DiffStepOutput>) -> Option<ComparedOutputs> {
    let mut changes = Vec::new();
    let value = |output: &Option<DiffStepOutput>| output.as_ref().map(|output| output.output.clone());
    add_changes("", value(&a), value(&b), &mut changes);
    (!changes.is_empty()).then_some(ComparedOutputs { a, b, changes })
}

/// The values that differ between two documents.
#[must_use]
pub fn changes(a: Value, b: Value) -> Vec<OutputChange> {
    let mut changes = Vec::new();
    add_changes("", Some(a), Some(b), &mut changes);
    changes
}

/// Adds the values that differ. Compares objects and lists element by element, and other values as a whole.
fn add_changes(at: &str, a: Option<Value>, b: Option<Value>, changes: &mut Vec<OutputChange>) {
    match (a, b) {
        (a, b) if a == b => {}
        (Some(Value::Object(mut one)), Some(Value::Object(mut other))) => {
            let added: Vec<String> = other.keys().filter(|key| !one.contains_key(*key)).cloned().collect();
            for key in one.keys().cloned().chain(added).collect::<Vec<_>>() {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                add_changes(&place, one.shift_remove(&key), other.shift_remove(&key), changes);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let count = one.len().max(other.len());
            let (mut one, mut other) = (one.into_iter(), other.into_iter());
            for index in 0..count {
                add_changes(&format!("{at}/{index}"), one.next(), other.next(), changes);
            }
        }
        (a, b) => changes.push(OutputChange { at: at.to_owned(), a, b }),
    }
}

fn nothing_before(start: NodeHash) -> Error {
    Error::usage(format!("{start} is the start of a thread: there is nothing before it to compare it with"))
        .hint("name two steps, or two threads")
}

/// Compares the files of both sides, which must be in the same repository.
fn compare_files(home: &Home, sides: &[DiffSide; 2], with_patch: bool, cwd: &Path) -> Result<ComparedFiles> {
    let [a, b] = sides;
    let (repository, one) = tree(home, a, cwd)?;
    let (other_repository, other) = tree(home, b, cwd)?;
    if repository != other_repository {
        let (one, other) = (repository.display(), other_repository.display());
        return Err(Error::usage(format!("the files are in two git repositories: {one} and {other}")));
    }
    let git = GitRunner::for_directory(&repository);
    let changed = git.changed_files(&one, &other)?;
    let patch = with_patch.then(|| git.patch(&one, &other)).transpose()?;
    let patch_is_lossy = patch.as_ref().is_some_and(|patch| matches!(patch.text(), Cow::Owned(_)));
    Ok(ComparedFiles { a: one, b: other, changed, patch, patch_is_lossy })
}

/// The repository that has the files of a step, fetched if necessary, and their tree.
fn tree(home: &Home, side: &DiffSide, cwd: &Path) -> Result<(PathBuf, String)> {
    let found = match &side.thread {
        Some(id) => files_of(home, id, side.step, cwd)?,
        None => snapshot::find_anywhere(home, cwd, side.step)?,
    };
    let (repository, files) = found.ok_or_else(|| {
        Error::not_found(format!("the files of {} are in no git repository that is known here", side.step))
            .hint("files are recorded of threads that work in a worktree: `uwf thread start --worktree`")
            .hint("run this in the repository of the thread, or name the thread")
    })?;
    Ok((repository, files.tree))
}

/// Whether files of a thread may be known. They are not if it works without a worktree.
#[must_use]
pub fn may_know_files(home: &Home, thread: &ThreadId) -> bool {
    let settings = ThreadSettings::load(home, thread).ok().flatten();
    settings.is_none_or(|settings| settings.worktree.is_some())
}

/// The files of a thread at a step. If another machine made them, they come from the thread's remote. A machine that does not know the
/// thread's worktree fetches them into the repository at `cwd`.
fn files_of(home: &Home, id: &ThreadId, step: NodeHash, cwd: &Path) -> Result<Option<(PathBuf, SnapshotCommit)>> {
    let repository = match ThreadSettings::load(home, id)?.map(|settings| settings.worktree) {
        Some(Some(worktree)) => worktree.repository,
        Some(None) => return Err(worktrees::without_worktree(id)),
        None => {
            let found = snapshot::find_anywhere(home, cwd, step)?;
            let Some(here) = GitRunner::for_directory(cwd).repository().ok().filter(|_| found.is_none()) else {
                return Ok(found);
            };
            here
        }
    };
    let files = travel::find(home, &repository, id, step)?;
    Ok(files.map(|files| (repository, files)))
}
