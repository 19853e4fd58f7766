//! `uwf store copy`: copies threads and workflow names from one store to another.
//!
//! Each thread's nodes are copied before its head is set, so a killed copy leaves no thread that lacks nodes. A repeated copy skips what
//! the target already has. Nothing is merged: a thread that has continued elsewhere, and a name that means another workflow in the target,
//! stay unchanged and are reported.

use std::collections::{BTreeSet, HashMap, HashSet};

use json_cas::{Head, HeadsError, MissingNodePolicy, NodeHash, ReachableNodes, SwapOutcome};
use serde::Serialize;
use serde_json::Value;
use uwf_core::thread::ThreadId;

use crate::error::{Error, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::missing_thread;
use crate::root::registry::{self, RegistryEntry};
use crate::thread::load::Thread;

/// Result of copying a thread or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyOutcome {
    /// The target lacked it and has it now.
    Copied,
    /// The target already had the same.
    Present,
    /// The target had fewer steps and has the others now.
    Advanced,
    /// The target has something else under this id or name, which stays unchanged.
    Differs,
}

/// A thread with the result of copying it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopiedThread {
    /// Its id.
    pub thread: ThreadId,
    /// The result.
    pub outcome: CopyOutcome,
    /// Its head in the source.
    pub head: NodeHash,
    /// Its head in the target, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub there: Option<NodeHash>,
}

/// A workflow name with the result of copying it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopiedName {
    /// The name.
    pub name: String,
    /// The result.
    pub outcome: CopyOutcome,
}

/// Report of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopiedStore {
    /// Threads, oldest first.
    pub threads: Vec<CopiedThread>,
    /// Names of workflows; empty when only some threads were requested.
    pub names: Vec<CopiedName>,
    /// Nodes that the target lacked.
    pub new_nodes: usize,
    /// Nodes that the target already had.
    pub present_nodes: usize,
    /// Bytes of the new nodes.
    pub bytes: u64,
}

impl CopiedStore {
    /// Whether the target has something else under an id or a name.
    pub fn differs(&self) -> bool {
        let threads = self.threads.iter().map(|thread| thread.outcome);
        threads.chain(self.names.iter().map(|name| name.outcome)).any(|outcome| outcome == CopyOutcome::Differs)
    }
}

/// Copies these threads, or all threads and names if `threads` is empty. Calls `progress` with the number of finished threads and the
/// total.
///
/// # Errors
/// `NotFound` for a thread that does not exist, `Data` for nodes that the source can't read or that differ in the target, errors of both
/// stores. Everything copied so far stays, and the same call continues from there.
pub fn copy(
    from: &Home,
    to: &Home,
    threads: &[ThreadId],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<CopiedStore> {
    let mut copy = StoreCopier { from, to, reached: from.store().reach(), report: CopiedStore::default() };
    let sources = sources(from, threads)?;
    // A repeated copy finds most threads in the target: compare all of them at once, instead of with some calls for each.
    let (there, pauses) = (TargetThreads::read(to)?, new_pauses(from, to)?);
    for (done, source) in sources.iter().enumerate() {
        progress(done, sources.len());
        if !there.has(source) {
            copy.thread(source)?;
            continue;
        }
        if pauses.contains(source.thread.as_str()) {
            copy.pause(source)?;
        }
        copy.report(source, CopyOutcome::Present, None);
    }
    if threads.is_empty() {
        copy.names()?;
    }
    progress(sources.len(), sources.len());
    Ok(copy.report)
}

/// A thread to copy.
struct CopySource {
    thread: ThreadId,
    head: NodeHash,
    /// For an ended thread: its line in the source's history.
    ended: Option<(HistoryLine, Value)>,
}

fn sources(from: &Home, threads: &[ThreadId]) -> Result<Vec<CopySource>> {
    if threads.is_empty() {
        // Heads first: a thread that ends in between is then in both lists, never in neither.
        let active = from.heads().list()?.into_iter();
        let active =
            active.filter_map(|(name, head)| Some(CopySource { thread: name.parse().ok()?, head, ended: None }));
        let mut all = ended(from)?;
        let has_ended: HashSet<ThreadId> = all.iter().map(|ended| ended.thread.clone()).collect();
        all.extend(active.filter(|source| !has_ended.contains(&source.thread)));
        all.sort_by(|a, b| a.thread.cmp(&b.thread));
        return Ok(all);
    }
    threads.iter().map(|thread| source(from, thread)).collect()
}

fn source(from: &Home, thread: &ThreadId) -> Result<CopySource> {
    if let Some(head) = from.heads().read(thread.as_str())? {
        return Ok(CopySource { thread: thread.clone(), head: head.hash, ended: None });
    }
    let line = from.journal().newest(thread.as_str())?;
    let ended = line.and_then(|line| Some((history::finished(&line)?, line)));
    let ended = ended.ok_or_else(|| missing_thread::not_found(from, thread))?;
    Ok(CopySource { thread: thread.clone(), head: ended.0.head, ended: Some(ended) })
}

fn ended(from: &Home) -> Result<Vec<CopySource>> {
    let lines = history::lines(from)?.into_iter();
    Ok(lines
        .map(|ended| CopySource { thread: ended.0.thread.clone(), head: ended.0.head, ended: Some(ended) })
        .collect())
}

/// Heads of active threads, and history lines of ended ones.
struct TargetThreads {
    active: HashMap<String, NodeHash>,
    ended: HashMap<ThreadId, HistoryLine>,
}

impl TargetThreads {
    fn read(home: &Home) -> Result<TargetThreads> {
        let active = home.heads().list()?.into_iter().collect();
        let ended = history::all(home)?.into_iter().map(|line| (line.thread.clone(), line)).collect();
        Ok(TargetThreads { active, ended })
    }

    /// Whether this store has a thread with the same head or end. If not, the thread is compared again on its own, so later changes are not
    /// missed.
    fn has(&self, source: &CopySource) -> bool {
        match &source.ended {
            None => self.active.get(source.thread.as_str()) == Some(&source.head),
            Some((own, _)) => self.ended.get(&source.thread).is_some_and(|line| is_same_end(own, line)),
        }
    }
}

/// Threads that are paused in the source and not in the target.
fn new_pauses(from: &Home, to: &Home) -> Result<BTreeSet<String>> {
    let paused = |home: &Home| -> Result<BTreeSet<String>> {
        let marked = marks::all(home)?.into_iter();
        Ok(marked.filter(|(_, marks)| marks.contains(&ThreadMark::Paused)).map(|(thread, _)| thread).collect())
    };
    Ok(&paused(from)? - &paused(to)?)
}

fn is_same_end(one: &HistoryLine, other: &HistoryLine) -> bool {
    one.head == other.head && one.status == other.status
}

struct StoreCopier<'h> {
    from: &'h Home,
    to: &'h Home,
    /// Nodes that were copied.
    reached: ReachableNodes<'h>,
    report: CopiedStore,
}

impl StoreCopier<'_> {
    fn thread(&mut self, source: &CopySource) -> Result<()> {
        let to = self.to;
        let _hold = to.hold_nodes()?;
        let there = to.heads().read(source.thread.as_str())?;
        let ended_there = history::newest_line(to, &source.thread)?;
        let (outcome, there) = match (there, ended_there) {
            (None, Some(line)) => self.beside_ended(source, &line),
            (Some(head), _) => self.beside(source, &head)?,
            (None, None) => {
                self.nodes(source)?;
                (self.begin(source)?, None)
            }
        };
        if outcome == CopyOutcome::Differs {
            // Nothing in the target references the nodes that were copied for this thread, so `gc` may remove them.
            self.reached = self.from.store().reach();
        }
        self.report(source, outcome, there);
        Ok(())
    }

    fn report(&mut self, source: &CopySource, outcome: CopyOutcome, there: Option<NodeHash>) {
        self.report.threads.push(CopiedThread { thread: source.thread.clone(), outcome, head: source.head, there });
    }

    /// Compares a thread with its end in the target.
    fn beside_ended(&self, source: &CopySource, line: &HistoryLine) -> (CopyOutcome, Option<NodeHash>) {
        let is_same = source.ended.as_ref().is_some_and(|(own, _)| is_same_end(own, line));
        if is_same { (CopyOutcome::Present, None) } else { (CopyOutcome::Differs, Some(line.head)) }
    }

    /// Advances a thread that is active in the target.
    fn beside(&mut self, source: &CopySource, there: &Head) -> Result<(CopyOutcome, Option<NodeHash>)> {
        if there.hash == source.head && source.ended.is_none() {
            self.pause(source)?;
            return Ok((CopyOutcome::Present, None));
        }
        let thread = Thread::load_at(self.from, source.thread.clone(), source.head)?;
        let has_passed = thread.start_hash == there.hash || thread.chain()?.position(there.hash).is_some();
        if !has_passed {
            return Ok((CopyOutcome::Differs, Some(there.hash)));
        }
        self.nodes(source)?;
        self.pause(source)?;
        let swapped = match &source.ended {
            Some((_, line)) => self.to.heads().remove(source.thread.as_str(), &there.version, line)?,
            None => self.to.heads().swap(source.thread.as_str(), &there.version, source.head)?,
        };
        Ok(match swapped {
            SwapOutcome::Done => (CopyOutcome::Advanced, None),
            SwapOutcome::Moved(now) => (CopyOutcome::Differs, now.map(|head| head.hash)),
        })
    }

    /// Pauses a thread in the target that is paused in the source. Call it before setting the head: a paused thread must never appear in
    /// the target without its pause.
    fn pause(&self, source: &CopySource) -> Result<()> {
        if let Some(reason) =
            marks::read(self.from, &source.thread, ThreadMark::Paused)?.filter(|_| source.ended.is_none())
        {
            marks::set(self.to, &source.thread, ThreadMark::Paused, &reason)?;
            marks::sync(self.to, &source.thread, ThreadMark::Paused)?;
        }
        Ok(())
    }

    /// Sets the head of a thread that the target lacks.
    fn begin(&self, source: &CopySource) -> Result<CopyOutcome> {
        let name = source.thread.as_str();
        self.pause(source)?;
        match self.to.heads().create(name, source.head) {
            Ok(SwapOutcome::Done) => {}
            Ok(SwapOutcome::Moved(_)) | Err(HeadsError::Removed { .. }) => return self.outrun(source),
            Err(error) => return Err(error.into()),
        }
        let Some((_, line)) = &source.ended else { return Ok(CopyOutcome::Copied) };
        let head = self.to.heads().read(name)?.filter(|head| head.hash == source.head);
        let head = head.ok_or_else(|| {
            Error::busy(format!("another process changed thread {name} in the other store while it was being copied"))
                .hint("try again: nodes that are already copied stay copied")
        })?;
        match self.to.heads().remove(name, &head.version, line)? {
            SwapOutcome::Done => Ok(CopyOutcome::Copied),
            SwapOutcome::Moved(_) => self.outrun(source),
        }
    }

    /// The result for a thread that another process copied at the same time.
    fn outrun(&self, source: &CopySource) -> Result<CopyOutcome> {
        let is_same = match &source.ended {
            None => self.to.heads().read(source.thread.as_str())?.is_some_and(|there| there.hash == source.head),
            Some((own, _)) => {
                history::newest_line(self.to, &source.thread)?.is_some_and(|there| is_same_end(own, &there))
            }
        };
        Ok(if is_same { CopyOutcome::Present } else { CopyOutcome::Differs })
    }

    /// Copies everything that a thread references.
    fn nodes(&mut self, source: &CopySource) -> Result<()> {
        let mut new = self.reached.add(source.head, MissingNodePolicy::Fails)?;
        if let Some(end) = source.ended.as_ref().and_then(|(line, _)| line.end) {
            new.extend(self.reached.add(end, MissingNodePolicy::Fails)?);
        }
        self.copy(&new)
    }

    fn copy(&mut self, nodes: &[NodeHash]) -> Result<()> {
        let copied = self.from.store().copy_to(self.to.store(), nodes)?;
        self.report.new_nodes += copied.new;
        self.report.present_nodes += copied.present;
        self.report.bytes += copied.bytes;
        Ok(())
    }

    fn names(&mut self) -> Result<()> {
        let names = registry::read(self.from)?;
        let _hold = self.to.hold_nodes()?;
        let versions = |entry: &RegistryEntry| {
            std::iter::once((entry.hash, MissingNodePolicy::Fails))
                .chain(entry.history.iter().map(|past| (past.hash, MissingNodePolicy::IsFine)))
                .collect::<Vec<_>>()
        };
        for (hash, missing) in names.values().flat_map(versions) {
            let new = self.reached.add(hash, missing)?;
            self.copy(&new)?;
        }
        let report = registry::update(self.to, |there| {
            let outcomes = names.iter().map(|(name, entry)| {
                let outcome = match there.get(name) {
                    None => CopyOutcome::Copied,
                    Some(other) if other.hash == entry.hash => CopyOutcome::Present,
                    Some(_) => CopyOutcome::Differs,
                };
                if outcome == CopyOutcome::Copied {
                    there.insert(name.clone(), entry.clone());
                }
                CopiedName { name: name.clone(), outcome }
            });
            Ok::<_, crate::error::Error>(outcomes.collect())
        })?;
        self.report.names = report;
        Ok(())
    }
}
