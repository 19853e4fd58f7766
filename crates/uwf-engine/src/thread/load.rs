//! Reading threads: the one place that walks from a head to what lies below it.

use std::cell::OnceCell;

use json_cas::{Hash, Head, Node, Store};
use serde::de::DeserializeOwned;
use serde_json::Value;
use uwf_core::node::{Attempt, Kind, Payload, StartNode, StepNode};
use uwf_core::thread::{StepRecord, ThreadId};
use uwf_core::workflow::{self, Workflow};

use crate::error::{self, Error, Result};
use crate::root::history::{self, Finished};
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::chain::Chain;
use crate::verbs::recover;

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
}

impl<'h> Thread<'h> {
    /// Loads an active thread and the head to swap against.
    ///
    /// # Errors
    /// `NotFound` when it is not active; those of its nodes.
    pub fn active(home: &'h Home, id: &ThreadId) -> Result<(Thread<'h>, Head)> {
        let head = home.heads().read(id.as_str())?;
        let head = head.ok_or_else(|| recover::not_active(home, id))?;
        Ok((Thread::at(home, id.clone(), head.hash)?, head))
    }

    /// Loads a thread, active or finished.
    ///
    /// # Errors
    /// `NotFound` when there is no such thread; those of its nodes.
    pub fn any(home: &'h Home, id: &ThreadId) -> Result<Thread<'h>> {
        if let Some(head) = home.heads().read(id.as_str())? {
            return Thread::at(home, id.clone(), head.hash);
        }
        Thread::ended(home, &history::of(home, id)?.ok_or_else(|| recover::not_found(home, id))?)
    }

    /// Loads a thread the history tells of.
    ///
    /// # Errors
    /// Those of its nodes.
    pub fn ended(home: &'h Home, line: &Finished) -> Result<Thread<'h>> {
        let id = &line.thread;
        Thread::at(home, id.clone(), line.head).map_err(|error| match error.kind {
            error::Kind::NotFound => error.hint(format!(
                "history.jsonl says that thread {id} ended there: `uwf recover` looks whether that line is damaged"
            )),
            _ => error,
        })
    }

    /// Loads the thread that ends at a node, under an id.
    ///
    /// # Errors
    /// Those of the nodes; `Data` when the node is neither start nor step.
    pub fn at(home: &'h Home, id: ThreadId, head: Hash) -> Result<Thread<'h>> {
        let node = home.store().get(head)?;
        let (last, start_hash, start_node) = match Kind::of(node.type_hash) {
            Some(Kind::StepNode) => {
                let step: StepNode = payload(head, &node)?;
                let start = home.store().get(step.start)?;
                (Some(step.clone()), step.start, start)
            }
            Some(Kind::StartNode) => (None, head, node.clone()),
            _ => return Err(Error::wrong_kind(head, "StartNode or StepNode", &title(home.store(), &node))),
        };
        if Kind::of(start_node.type_hash) != Some(Kind::StartNode) {
            return Err(Error::wrong_kind(start_hash, "StartNode", &title(home.store(), &start_node)));
        }
        let start = payload(start_hash, &start_node)?;
        Ok(Thread {
            home,
            id,
            head,
            start_hash,
            start,
            last,
            head_timestamp_ms: node.timestamp,
            chain: OnceCell::new(),
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
        }
    }

    /// Lets a thread that moved on know its chain, which then need not be read again.
    pub(crate) fn has_chain(&self, chain: Chain) {
        // What is known already is the same.
        let _ = self.chain.set(chain);
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
        workflow(self.home.store(), self.start.workflow)
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

    /// Step `index` (from 0) with its output.
    ///
    /// # Errors
    /// Those of the nodes.
    pub fn step(&self, index: usize) -> Result<StepRecord> {
        let chain = self.chain()?;
        // The newest is the one that is asked for most, and all of it but its output is known.
        if let Some(last) = self.last.as_ref().filter(|_| index + 1 == chain.len()) {
            return with_output(self.home.store(), self.head, last.clone(), self.head_timestamp_ms);
        }
        let record = chain.get(index).ok_or_else(|| {
            Error::new(error::Kind::Internal, format!("thread {} has no step {}", self.id, index + 1))
        })?;
        step_record(self.home.store(), record.step)
    }
}

/// When a thread last changed, by when it began and when its newest step was first put. A fork begins after the step it
/// begins with.
pub(crate) fn changed_at(started_at: Option<u64>, stepped_at: Option<u64>) -> Option<u64> {
    stepped_at.max(started_at)
}

/// A StepNode and when it was first put (Unix milliseconds).
///
/// # Errors
/// Those of the store; `Data` when the node is no step.
pub fn step_node(store: &Store, hash: Hash) -> Result<(StepNode, u64)> {
    let node = store.get(hash)?;
    if Kind::of(node.type_hash) != Some(Kind::StepNode) {
        return Err(Error::wrong_kind(hash, "StepNode", &title(store, &node)));
    }
    Ok((payload(hash, &node)?, node.timestamp))
}

/// A step with its output.
///
/// # Errors
/// Those of the two nodes.
pub fn step_record(store: &Store, hash: Hash) -> Result<StepRecord> {
    let (step, timestamp_ms) = step_node(store, hash)?;
    with_output(store, hash, step, timestamp_ms)
}

fn with_output(store: &Store, hash: Hash, step: StepNode, timestamp_ms: u64) -> Result<StepRecord> {
    let output = store.get(step.output)?.payload;
    Ok(StepRecord { hash, role: step.role, output, detail: step.detail, agent: step.agent, timestamp_ms })
}

/// A workflow.
///
/// # Errors
/// Those of the store; `Data` when the node is no workflow.
pub fn workflow(store: &Store, hash: Hash) -> Result<Workflow> {
    let node = store.get(hash)?;
    if Kind::of(node.type_hash) != Some(Kind::Workflow) {
        return Err(Error::wrong_kind(hash, "Workflow", &title(store, &node)));
    }
    Workflow::from_payload(&node.payload)
        .map_err(|error| Error::new(error::Kind::Data, format!("workflow {hash} is not readable: {error}")))
}

/// Child threads a detail may lead through; `maxDepth` keeps threads from being nested any deeper than makes sense.
const MAX_NESTING: usize = 64;

/// The node that tells how an output came to be. The detail of a role played by a workflow is the last step of a child
/// thread: then it is that step's own.
///
/// # Errors
/// Those of the nodes; `Data` when steps lead to steps without end.
pub fn telling(store: &Store, detail: Hash) -> Result<(Hash, Node)> {
    let mut at = detail;
    for _ in 0..MAX_NESTING {
        let node = store.get(at)?;
        if Kind::of(node.type_hash) != Some(Kind::StepNode) {
            return Ok((at, node));
        }
        at = payload::<StepNode>(at, &node)?.detail;
    }
    Err(Error::new(error::Kind::Data, format!("the detail {detail} lies more than {MAX_NESTING} threads deep")))
}

/// How the output of a step was obtained, when its detail says so.
///
/// # Errors
/// Those of the node.
pub fn extracted_by(store: &Store, detail: Hash) -> Result<Option<String>> {
    let (_, node) = telling(store, detail)?;
    Ok(node.payload.get("extractedBy").and_then(Value::as_str).map(str::to_owned))
}

/// A payload as its Rust type.
///
/// # Errors
/// `Data` naming the node.
pub fn payload<T: DeserializeOwned>(hash: Hash, node: &Node) -> Result<T> {
    T::deserialize(&node.payload).map_err(|error| {
        Error::new(error::Kind::Data, format!("node {hash} does not have the shape of its type: {error}"))
    })
}

/// A node's payload as its Rust type, checked to be of that type.
///
/// # Errors
/// `Data` when the node has another type.
pub fn typed<T: Payload + DeserializeOwned>(store: &Store, hash: Hash) -> Result<T> {
    let node = store.get(hash)?;
    if node.type_hash != T::TYPE {
        let wanted = Kind::of(T::TYPE).map_or("node", Kind::title);
        return Err(Error::wrong_kind(hash, wanted, &title(store, &node)));
    }
    payload(hash, &node)
}

/// A failed attempt, whether or not it has a trace.
///
/// # Errors
/// `Data` when the node is none.
pub fn attempt(store: &Store, hash: Hash) -> Result<Attempt> {
    let node = store.get(hash)?;
    if Kind::of(node.type_hash) != Some(Kind::Attempt) {
        return Err(Error::wrong_kind(hash, Kind::Attempt.title(), &title(store, &node)));
    }
    payload(hash, &node)
}

/// What people call a node's type.
pub fn title(store: &Store, node: &Node) -> String {
    if let Some(kind) = Kind::of(node.type_hash) {
        return kind.title().to_owned();
    }
    let schema = store.try_get(node.type_hash).ok().flatten();
    let title = schema.as_ref().and_then(|schema| schema.payload.get("title")).and_then(Value::as_str);
    title.map_or_else(|| format!("node of type {}", node.type_hash), |title| format!("`{title}` node"))
}
