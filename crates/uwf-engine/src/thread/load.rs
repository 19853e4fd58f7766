//! Reading threads: the one place that walks from a head to what lies below it.

use std::cell::OnceCell;

use json_cas::{Hash, Head};
use uwf_core::node::{NodeKind, StartNode, StepNode};
use uwf_core::thread::{Step, ThreadId};
use uwf_core::workflow::{self, Workflow};

use crate::error::{Error, Result};
use crate::root::history::{self, Finished};
use crate::root::home::Home;
use crate::root::ids;
use crate::root::missing_thread;
use crate::thread::chain::Chain;
use crate::thread::nodes;
use crate::thread::steps::{self, Parts};

/// A thread as it stands: its head, its start, its last step. Older steps are loaded only when asked for.
pub struct Thread<'h> {
    home: &'h Home,
    /// Its id.
    pub id: ThreadId,
    /// The newest StepNode, or the StartNode when there is none.
    pub head: Hash,
    /// The StartNode.
    pub start_hash: Hash,
    /// Its content.
    pub start: StartNode,
    /// The last step.
    pub last: Option<StepNode>,
    /// Unix milliseconds the head was first put at. For a thread without steps that is when the first thread with this
    /// workflow and task began: [`Thread::changed_at`] is the time of this one.
    pub head_timestamp_ms: u64,
    chain: OnceCell<Chain>,
    /// Whether it stands at a step that is not its head any more, or has no id.
    is_past: bool,
}

impl<'h> Thread<'h> {
    /// Loads an active thread and the head to swap against.
    ///
    /// # Errors
    /// `NotFound` when it is not active; those of its nodes.
    pub fn active(home: &'h Home, id: &ThreadId) -> Result<(Thread<'h>, Head)> {
        let head = home.heads().read(id.as_str())?;
        let head = head.ok_or_else(|| missing_thread::not_active(home, id))?;
        Ok((Thread::at(home, id.clone(), head.hash)?, head))
    }

    /// The thread's head, if it is still where it was when the thread was loaded: to move it on, or to end the thread by.
    ///
    /// # Errors
    /// `Busy` when it is elsewhere by now, `NotFound` when the thread has ended.
    pub(crate) fn current_head(&self) -> Result<Head> {
        let head = self.home.heads().read(self.id.as_str())?;
        let head = head.ok_or_else(|| missing_thread::not_active(self.home, &self.id))?;
        if head.hash == self.head { Ok(head) } else { Err(head_moved(&self.id, "being ended")) }
    }

    /// Loads a thread, active or finished.
    ///
    /// # Errors
    /// `NotFound` when there is no such thread; those of its nodes.
    pub fn any(home: &'h Home, id: &ThreadId) -> Result<Thread<'h>> {
        if let Some(head) = home.heads().read(id.as_str())? {
            return Thread::at(home, id.clone(), head.hash);
        }
        Thread::ended(home, &history::of(home, id)?.ok_or_else(|| missing_thread::not_found(home, id))?)
    }

    /// Loads a thread the history tells of.
    ///
    /// # Errors
    /// Those of its nodes.
    pub fn ended(home: &'h Home, line: &Finished) -> Result<Thread<'h>> {
        let id = &line.thread;
        Thread::at(home, id.clone(), line.head).map_err(|error| match error.missing_node() {
            Some(hash) => Error::data(format!("node {hash} is missing, at which thread {id} ended"))
                .hint("history.jsonl says so: `uwf recover` looks whether that line is damaged")
                .hint(nodes::BRING_BACK),
            None => error,
        })
    }

    /// Loads the thread that ends at a node, under an id.
    ///
    /// # Errors
    /// Those of the nodes; `Data` when the node is neither start nor step.
    pub fn at(home: &'h Home, id: ThreadId, head: Hash) -> Result<Thread<'h>> {
        let node = nodes::get(home.store(), head)?;
        let (last, start_hash, start_node) = match NodeKind::of(node.type_hash) {
            Some(NodeKind::StepNode) => {
                let step: StepNode = nodes::payload(head, &node)?;
                let start = nodes::get(home.store(), step.start)?;
                (Some(step.clone()), step.start, start)
            }
            Some(NodeKind::StartNode) => (None, head, node.clone()),
            _ => return Err(nodes::wrong_kind(home.store(), head, "StartNode or StepNode", &node)),
        };
        if NodeKind::of(start_node.type_hash) != Some(NodeKind::StartNode) {
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

    /// The thread once its head has moved on to a step of it.
    pub(crate) fn moved_to(&self, head: Hash, step: StepNode, timestamp_ms: u64) -> Thread<'h> {
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

    /// The thread as it was when it had so many steps.
    ///
    /// # Errors
    /// Those of the nodes.
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

    /// Loads what ends at a step that no thread of this machine is known to have: its id is all zeros, and no cache is
    /// written for it.
    ///
    /// # Errors
    /// Those of the nodes.
    pub(crate) fn without_id(home: &'h Home, head: Hash) -> Result<Thread<'h>> {
        let chain = OnceCell::from(Chain::walked(home, head)?);
        Ok(Thread { chain, is_past: true, ..Thread::at(home, ThreadId::from(ulid::Ulid::nil()), head)? })
    }

    /// Whether it is not the thread as it stands, so that nothing it says belongs into the thread's caches.
    pub(crate) fn is_past(&self) -> bool {
        self.is_past
    }

    /// The storage root it was loaded from.
    pub fn home(&self) -> &'h Home {
        self.home
    }

    /// Unix milliseconds the thread began at, from its id; `None` when the id holds no time. The StartNode can't say:
    /// threads with the same workflow and task share it.
    pub fn started_at(&self) -> Option<u64> {
        ids::started_at(&self.id)
    }

    /// Unix milliseconds of its last change: its newest step, or its beginning (of a fork, the fork).
    pub fn changed_at(&self) -> Option<u64> {
        changed_at(self.started_at(), self.last.is_some().then_some(self.head_timestamp_ms))
    }

    /// The workflow the thread is pinned to.
    ///
    /// # Errors
    /// Those of the node.
    pub fn workflow(&self) -> Result<Workflow> {
        nodes::workflow(self.home.store(), self.start.workflow)
    }

    /// The graph position: the last step's role, `$START` before the first.
    pub fn position(&self) -> &str {
        self.last.as_ref().map_or(workflow::START, |step| &step.role)
    }

    /// Its steps as the chain cache has them.
    ///
    /// # Errors
    /// Those of the StepNodes the cache lacks.
    pub fn chain(&self) -> Result<&Chain> {
        if let Some(chain) = self.chain.get() {
            return Ok(chain);
        }
        let chain = Chain::load(self.home, &self.id, self.last.is_some().then_some(self.head))?;
        Ok(self.chain.get_or_init(|| chain))
    }

    /// Step `index` (from 0) with its output and these parts.
    ///
    /// # Errors
    /// Those of the nodes.
    pub fn step(&self, index: usize, parts: Parts) -> Result<Step> {
        let (chain, store) = (self.chain()?, self.home.store());
        // The newest is the one that is asked for most, and its StepNode is known.
        if let Some(last) = self.last.as_ref().filter(|_| index + 1 == chain.len()) {
            return steps::of_node(store, index + 1, self.head, (last.clone(), self.head_timestamp_ms), parts);
        }
        let hash = self.step_hash(index)?;
        steps::of_node(store, index + 1, hash, nodes::step_node(store, hash)?, parts)
    }

    /// Step `index` (from 0) with all there is to show of it. What lies below its StepNode and is not readable is said in
    /// [`Step::unreadable`].
    ///
    /// # Errors
    /// Those of the StepNode.
    pub fn whole_step(&self, index: usize) -> Result<Step> {
        steps::whole(self.home.store(), index + 1, self.step_hash(index)?)
    }

    /// The same of the newest step, `None` at the start: its position is not asked for, and said to be 0.
    ///
    /// # Errors
    /// Those of the StepNode.
    pub fn newest_step(&self) -> Result<Option<Step>> {
        self.last.as_ref().map(|_| steps::whole(self.home.store(), 0, self.head)).transpose()
    }

    pub(crate) fn step_hash(&self, index: usize) -> Result<Hash> {
        let record = self.chain()?.get(index);
        record
            .map(|record| record.step)
            .ok_or_else(|| Error::internal(format!("thread {} has no step {}", self.id, index + 1)))
    }
}

/// The refusal when another process moved the head; `meanwhile` completes "while it was …".
pub(crate) fn head_moved(thread: &ThreadId, meanwhile: &str) -> Error {
    Error::busy(format!("the head of thread {thread} moved while it was {meanwhile}"))
        .hint("look at it with `uwf thread show`, then try again")
}

/// When a thread last changed, by when it began and when its newest step was first put. A fork begins after the step it
/// begins with.
pub(crate) fn changed_at(started_at: Option<u64>, stepped_at: Option<u64>) -> Option<u64> {
    stepped_at.max(started_at)
}
