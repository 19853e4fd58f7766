//! `thread steps`: the start of a thread and its steps, or some of them.

use std::ops::Range;

use json_cas::Hash;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uwf_core::thread::{Step, ThreadId};

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::steps::Parts;

/// The entries of a thread: its start, then its steps.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Steps {
    /// The thread.
    pub thread: ThreadId,
    /// Workflow it is pinned to.
    pub workflow: Hash,
    /// The entries that were asked for.
    pub steps: Vec<Entry>,
    /// Position of the first of them; that of the start is 0.
    #[serde(skip)]
    pub first: usize,
    /// How many entries there are in all.
    #[serde(skip)]
    pub count: usize,
}

/// What [`Steps`] has one of for the start and for each step. Timestamps are Unix milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// The start.
    Start {
        /// Its node.
        hash: Hash,
        /// Workflow the thread is pinned to.
        workflow: Hash,
        /// The task.
        prompt: String,
        /// When the thread began; absent when its id holds no time.
        timestamp: Option<u64>,
    },
    /// A step.
    Step(
        #[serde(with = "ListedStep")]
        #[schemars(with = "ListedStep")]
        Box<Step>,
    ),
}

/// What the list has of a step.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Step")]
struct ListedStep {
    hash: Hash,
    role: String,
    output: Value,
    detail: Hash,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    timestamp: u64,
}

/// The entries at these positions; that of the start is 0, and where there is none the range ends. Nodes are read of these
/// entries only, however long the thread is.
///
/// # Errors
/// `NotFound` when there is no such thread, those of its nodes.
pub fn steps(home: &Home, id: &ThreadId, range: Range<usize>) -> Result<Steps> {
    let thread = Thread::any(home, id)?;
    let count = thread.chain()?.len() + 1;
    let range = range.start.min(count)..range.end.min(count);
    let first = range.start;
    let steps = range.map(|position| entry(&thread, position)).collect::<Result<_>>()?;
    Ok(Steps { workflow: thread.start.workflow, steps, thread: thread.id, first, count })
}

fn entry(thread: &Thread<'_>, position: usize) -> Result<Entry> {
    Ok(match position.checked_sub(1) {
        Some(index) => Entry::Step(Box::new(thread.step(index, Parts::ALIAS)?)),
        None => {
            let (hash, workflow) = (thread.start_hash, thread.start.workflow);
            Entry::Start { hash, workflow, prompt: thread.start.prompt.clone(), timestamp: thread.started_at() }
        }
    })
}
