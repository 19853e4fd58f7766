//! `thread steps`: the start of a thread and its steps, or some of them.

use std::ops::Range;

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uwf_core::thread::{Step, ThreadId};

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::steps::StepParts;

/// The entries of a thread: its start, then its steps.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepListing {
    /// The thread.
    pub thread: ThreadId,
    /// Workflow of the thread.
    pub workflow: NodeHash,
    /// The requested entries.
    pub steps: Vec<StepEntry>,
    /// Position of the first entry; the start has position 0.
    #[serde(skip)]
    pub first: usize,
    /// Total number of entries.
    #[serde(skip)]
    pub count: usize,
}

/// The start of a thread, or a step. Timestamps are Unix milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StepEntry {
    /// The start.
    Start {
        /// Its node.
        hash: NodeHash,
        /// Workflow of the thread.
        workflow: NodeHash,
        /// The task.
        prompt: String,
        /// The input; absent if the workflow has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// When the thread started; absent if its id contains no time.
        timestamp: Option<u64>,
    },
    /// A step.
    Step(
        #[serde(with = "ListedStep")]
        #[schemars(with = "ListedStep")]
        Box<Step>,
    ),
}

/// A step in the list.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Step")]
struct ListedStep {
    hash: NodeHash,
    role: String,
    output: Value,
    detail: NodeHash,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "answeredBy")]
    answered_by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<String>,
    timestamp: u64,
}

/// The entries at these positions. The start has position 0, and positions beyond the last entry are ignored. Reads nodes of these
/// entries only, however long the thread is.
///
/// # Errors
/// `NotFound` if the thread does not exist; errors of its nodes.
pub fn steps(home: &Home, id: &ThreadId, range: Range<usize>) -> Result<StepListing> {
    steps_in(&Thread::any(home, id)?, range)
}

/// The same for a thread that was read before.
pub fn steps_in(thread: &Thread<'_>, range: Range<usize>) -> Result<StepListing> {
    let count = thread.chain()?.len() + 1;
    let range = range.start.min(count)..range.end.min(count);
    let first = range.start;
    let steps = range.map(|position| entry(thread, position)).collect::<Result<_>>()?;
    Ok(StepListing { workflow: thread.start.workflow, steps, thread: thread.id.clone(), first, count })
}

fn entry(thread: &Thread<'_>, position: usize) -> Result<StepEntry> {
    Ok(match position.checked_sub(1) {
        Some(index) => StepEntry::Step(Box::new(thread.step(index, StepParts::LISTED)?)),
        None => {
            let (hash, workflow) = (thread.start_hash, thread.start.workflow);
            let (prompt, input) = (thread.start.prompt.clone(), thread.input()?);
            StepEntry::Start { hash, workflow, prompt, input, timestamp: thread.started_at() }
        }
    })
}
