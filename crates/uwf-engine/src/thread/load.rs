//! Loading threads: the only code that walks from a head to the nodes below it.

use std::cell::OnceCell;

use json_cas::{Head, NodeHash};
use serde_json::Value;
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::thread::{Step, ThreadId};
use uwf_core::workflow::{self, Workflow};

use crate::error::{Error, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::{missing_thread, record};
use crate::thread::chain::StepChain;
use crate::thread::nodes;
use crate::thread::steps::{self, StepParts};

/// A thread with its head, its start and its last step. Older steps are loaded only on request.
pub struct Thread<'h> {
    home: &'h Home,
    /// Its id.
    pub id: ThreadId,
    /// The newest StepNode, or the StartNode if it has no steps.
    pub head: NodeHash,
    /// The StartNode.
    pub start_hash: NodeHash,
    /// Its content.
    pub start: StartNode,
    /// The last step.
    pub last: Option<StepNode>,
    /// When the head was first stored, in Unix milliseconds. For a thread without steps, that is when the first thread with this workflow
    /// and task started: [`Thread::changed_at`] is the time of this thread.
    pub head_timestamp_ms: u64,
    chain: OnceCell<StepChain>,
    /// Whether it ends at an earlier step than the real thread, or has no id.
    is_past: bool,
}

impl<'h> Thread<'h> {
    /// Loads an active thread and the head to swap against.
    ///
    /// # Errors
    /// `NotFound` if it is not active; errors of its nodes.
    pub fn active(home: &'h Home, id: &ThreadId) -> Result<(Thread<'h>, Head)> {
        let head = home.heads().read(id.as_str())?;
        let head = head.ok_or_else(|| missing_thread::not_active(home, id))?;
        Ok((Thread::load_at(home, id.clone(), head.hash)?, head))
    }

    /// The thread's head, if it has not moved since the thread was loaded: to move it, or to end the thread with it.
    ///
    /// # Errors
    /// `Busy` if it has moved, `NotFound` if the thread has ended.
    pub(crate) fn current_head(&self) -> Result<Head> {
        let head = self.home.heads().read(self.id.as_str())?;
        let head = head.ok_or_else(|| missing_thread::not_active(self.home, &self.id))?;
        if head.hash == self.head { Ok(head) } else { Err(head_moved(&self.id, "being ended")) }
    }

    /// Loads a thread, active or finished.
    ///
    /// # Errors
    /// `NotFound` if the thread does not exist; errors of its nodes.
    pub fn any(home: &'h Home, id: &ThreadId) -> Result<Thread<'h>> {
        if let Some(head) = home.heads().read(id.as_str())? {
            return Thread::load_at(home, id.clone(), head.hash);
        }
        Thread::ended(home, &history::newest_line(home, id)?.ok_or_else(|| missing_thread::not_found(home, id))?)
    }

    /// Loads a thread in the history.
    pub fn ended(home: &'h Home, line: &HistoryLine) -> Result<Thread<'h>> {
        let id = &line.thread;
        Thread::load_at(home, id.clone(), line.head).map_err(|error| match error.missing_node() {
            Some(hash) => Error::data(format!("node {hash} is missing, at which thread {id} ended"))
                .hint("this is from history.jsonl: `uwf recover` checks whether that line is damaged")
                .hint(nodes::BRING_BACK),
            None => error,
        })
    }

    /// Loads the thread that ends at a node, under an id.
    ///
    /// # Errors
    /// Errors of the nodes; `Data` if the node is neither start nor step.
    pub fn load_at(home: &'h Home, id: ThreadId, head: NodeHash) -> Result<Thread<'h>> {
        let node = nodes::get(home.store(), head)?;
        let (last, start_hash, start_node) = match NodeKind::from_type_hash(node.type_hash) {
            Some(NodeKind::StepNode) => {
                let step: StepNode = nodes::payload(head, &node)?;
                let start = nodes::get(home.store(), step.start)?;
                (Some(step.clone()), step.start, start)
            }
            Some(NodeKind::StartNode) => (None, head, node.clone()),
            _ => return Err(nodes::wrong_kind(home.store(), head, "StartNode or StepNode", &node)),
        };
        if NodeKind::from_type_hash(start_node.type_hash) != Some(NodeKind::StartNode) {
            return Err(nodes::wrong_kind(home.store(), start_hash, "StartNode", &start_node));
        }
        let start = nodes::payload(start_hash, &start_node)?;
        Ok(Thread {
            home,
            id,
            head,
            start_hash,
            start,
            last,
            head_timestamp_ms: node.timestamp,
            chain: OnceCell::new(),
            is_past: false,
        })
    }

    /// The thread after its head moves to the next step.
    pub(crate) fn moved_to(&self, head: NodeHash, step: StepNode, timestamp_ms: u64) -> Thread<'h> {
        Thread {
            home: self.home,
            id: self.id.clone(),
            head,
            start_hash: self.start_hash,
            start: self.start.clone(),
            last: Some(step),
            head_timestamp_ms: timestamp_ms,
            chain: OnceCell::new(),
            is_past: false,
        }
    }

    /// The thread as it was with this many steps.
    pub(crate) fn as_of(&self, steps: usize) -> Result<Thread<'h>> {
        let chain = self.chain()?.first(steps);
        let (head, last, head_timestamp_ms) = match chain.records().last() {
            Some(record) => {
                let (step, timestamp) = nodes::step_node(self.home.store(), record.step)?;
                (record.step, Some(step), timestamp)
            }
            None => (self.start_hash, None, nodes::get(self.home.store(), self.start_hash)?.timestamp),
        };
        let (id, start) = (self.id.clone(), self.start.clone());
        let (chain, start_hash, is_past) = (OnceCell::from(chain), self.start_hash, true);
        Ok(Thread { home: self.home, id, head, start_hash, start, last, head_timestamp_ms, chain, is_past })
    }

    /// Loads the thread that ends at a step, if no thread of this machine is known to have the step: its id is all zeros, and no cache is
    /// written for it.
    pub(crate) fn without_id(home: &'h Home, head: NodeHash) -> Result<Thread<'h>> {
        let chain = OnceCell::from(StepChain::walked(home, head)?);
        Ok(Thread { chain, is_past: true, ..Thread::load_at(home, ThreadId::from(ulid::Ulid::nil()), head)? })
    }

    /// The thread of a branch that has not begun: it has this task and no steps, and otherwise the data of this thread.
    #[must_use]
    pub fn branch_before_start(&self, task: String) -> Thread<'h> {
        Thread {
            home: self.home,
            id: self.id.clone(),
            head: self.head,
            start_hash: self.start_hash,
            start: StartNode { prompt: task, input: None, ..self.start.clone() },
            last: None,
            head_timestamp_ms: self.head_timestamp_ms,
            chain: OnceCell::from(StepChain::default()),
            is_past: true,
        }
    }

    /// Whether it differs from the real thread, so that none of its data belongs in the thread's caches.
    pub(crate) fn is_past(&self) -> bool {
        self.is_past
    }

    /// The storage root it was loaded from.
    pub fn home(&self) -> &'h Home {
        self.home
    }

    /// When the thread started, in Unix milliseconds, from its id or its record. The StartNode does not know: threads with the same
    /// workflow and task share it.
    pub fn started_at(&self) -> Option<u64> {
        record::started_at(self.home, &self.id)
    }

    /// When it last changed, in Unix milliseconds: its newest step, or its start (for a fork, the fork).
    pub fn changed_at(&self) -> Option<u64> {
        changed_at(self.started_at(), self.last.is_some().then_some(self.head_timestamp_ms))
    }

    /// The workflow of the thread.
    pub fn workflow(&self) -> Result<Workflow> {
        nodes::workflow(self.home.store(), self.start.workflow)
    }

    /// The values it was started with besides its task; `None` if its workflow has no input.
    pub fn input(&self) -> Result<Option<Value>> {
        let node = self.start.input.map(|hash| nodes::get(self.home.store(), hash)).transpose()?;
        Ok(node.map(|node| node.payload))
    }

    /// The graph position: the last step's role, or `$START` before the first step.
    pub fn position(&self) -> &str {
        self.last.as_ref().map_or(workflow::START, |step| &step.role)
    }

    /// Its steps, from the chain cache.
    pub fn chain(&self) -> Result<&StepChain> {
        if let Some(chain) = self.chain.get() {
            return Ok(chain);
        }
        let chain = StepChain::load(self.home, &self.id, self.last.is_some().then_some(self.head))?;
        Ok(self.chain.get_or_init(|| chain))
    }

    /// Step `index` (from 0) with its output and these parts.
    pub fn step(&self, index: usize, parts: StepParts) -> Result<Step> {
        let (chain, store) = (self.chain()?, self.home.store());
        // The newest step is requested most, and its StepNode is already known.
        if let Some(last) = self.last.as_ref().filter(|_| index + 1 == chain.len()) {
            return steps::of_node(store, index + 1, self.head, (last.clone(), self.head_timestamp_ms), parts);
        }
        let hash = self.step_hash(index)?;
        steps::of_node(store, index + 1, hash, nodes::step_node(store, hash)?, parts)
    }

    /// Step `index` (from 0) in full. Unreadable nodes below its StepNode are listed in [`Step::unreadable`].
    pub fn whole_step(&self, index: usize) -> Result<Step> {
        steps::whole(self.home.store(), index + 1, self.step_hash(index)?)
    }

    /// A step of its chain in full. Its position is not determined, and given as 0.
    pub fn whole_step_at(&self, hash: NodeHash) -> Result<Step> {
        steps::whole(self.home.store(), 0, hash)
    }

    /// The newest step in full, `None` at the start. Its position is not determined, and given as 0.
    pub fn newest_step(&self) -> Result<Option<Step>> {
        self.last.as_ref().map(|_| self.whole_step_at(self.head)).transpose()
    }

    pub(crate) fn step_hash(&self, index: usize) -> Result<NodeHash> {
        let record = self.chain()?.get(index);
        record
            .map(|record| record.step)
            .ok_or_else(|| Error::internal(format!("thread {} has no step {}", self.id, index + 1)))
    }
}

/// The rejection if another process moved the head; `meanwhile` completes "while it was …".
pub(crate) fn head_moved(thread: &ThreadId, meanwhile: &str) -> Error {
    Error::busy(format!("the head of thread {thread} moved while it was {meanwhile}"))
        .hint(format!("look at it with `uwf thread show {thread}`, then try again"))
}

/// When a thread last changed, from the time it started and the time its newest step was first stored. A fork starts later than the step
/// it starts with.
pub(crate) fn changed_at(started_at: Option<u64>, stepped_at: Option<u64>) -> Option<u64> {
    stepped_at.max(started_at)
}
