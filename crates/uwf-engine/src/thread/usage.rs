//! What a thread has used so far: tokens, money and time, as the details of its steps have it.

use std::io::Write;
use std::path::Path;

use durable_files::regular;
use json_cas::{Hash, Node, Store};
use serde::{Deserialize, Serialize};
use uwf_core::node::{NodeKind, ReactSession, StepNode, Tokens};
use uwf_core::usage::{Amount, Usage};

use crate::thread::error::{Result, ThreadError};
use crate::thread::load::Thread;
use crate::thread::nodes;

/// How deep child threads may be nested in a step. `maxDepth` keeps threads from being nested deeper.
const MAX_NESTING: usize = 64;

/// What was summed up the last time: a file of the cache, so that a step of a long thread reads its newest steps only.
#[derive(Serialize, Deserialize)]
struct Sum {
    /// The step up to which it was summed up.
    head: Hash,
    /// How many steps those are.
    steps: usize,
    usage: Usage,
}

/// What all steps of a thread used, with their failed attempts and child threads.
///
/// # Errors
/// Those of the nodes.
pub fn of(thread: &Thread<'_>) -> Result<Usage> {
    let chain = thread.chain()?;
    let store = thread.home().store();
    let file = thread.home().usage_file(&thread.id);
    let known = read(&file).filter(|sum| {
        let last = sum.steps.checked_sub(1).and_then(|last| chain.get(last));
        last.is_some_and(|record| record.step == sum.head)
    });
    let Sum { steps: summed, mut usage, .. } =
        known.unwrap_or_else(|| Sum { head: thread.head, steps: 0, usage: Usage::default() });
    for record in &chain.records()[summed..] {
        let (step, _) = nodes::step_node(store, record.step)?;
        usage.add(&step.role, Amount { steps: 1, ..of_detail(store, step.detail, MAX_NESTING)? });
    }
    if summed < chain.len() && !thread.is_past() {
        write(&file, &Sum { head: thread.head, steps: chain.len(), usage: usage.clone() });
    }
    Ok(usage)
}

/// What failed attempts used that are part of no step yet.
///
/// # Errors
/// Those of the nodes.
pub(crate) fn of_attempts(store: &Store, attempts: &[Hash]) -> Result<Amount> {
    let mut sum = Amount::default();
    for attempt in attempts {
        sum.add(of_attempt(&store.get(*attempt)?));
    }
    Ok(sum)
}

/// An attempt without a trace says nothing of tokens.
fn of_attempt(node: &Node) -> Amount {
    let tokens = node.payload.get("tokens").and_then(|tokens| Tokens::deserialize(tokens).ok());
    tokens.as_ref().map(Tokens::amount).unwrap_or_default()
}

/// What a detail says: of an agent's session, or of all steps of a child thread.
fn of_detail(store: &Store, detail: Hash, nesting: usize) -> Result<Amount> {
    let node = store.get(detail)?;
    match NodeKind::of(node.type_hash) {
        Some(NodeKind::ReactSession) => of_session(store, &nodes::payload(detail, &node)?),
        Some(NodeKind::StepNode) => of_child(store, nodes::payload(detail, &node)?, nesting),
        // Texts, and what other implementations record: they count no tokens.
        _ => Ok(Amount::default()),
    }
}

fn of_session(store: &Store, session: &ReactSession) -> Result<Amount> {
    let mut sum = session.tokens.as_ref().map(Tokens::amount).unwrap_or_default();
    if session.tokens.is_none() {
        sum.tokens = session.total_tokens.unwrap_or(0);
    }
    sum.seconds = session.duration_ms as f64 / 1000.0;
    sum.add(of_attempts(store, &session.attempts)?);
    Ok(sum)
}

/// The last step of a child thread, and all before it. They are no steps of the thread itself.
fn of_child(store: &Store, last: StepNode, nesting: usize) -> Result<Amount> {
    let Some(nesting) = nesting.checked_sub(1) else {
        return Err(ThreadError::TooDeep { detail: last.detail, most: MAX_NESTING });
    };
    let mut sum = of_detail(store, last.detail, nesting)?;
    let mut next = last.prev;
    while let Some(at) = next {
        let (step, _) = nodes::step_node(store, at)?;
        sum.add(of_detail(store, step.detail, nesting)?);
        next = step.prev;
    }
    Ok(sum)
}

/// Anything but a whole sum is none: it can be made again.
fn read(path: &Path) -> Option<Sum> {
    serde_json::from_slice(&regular::read(path, regular::MAX_TEXT).ok()?).ok()
}

/// Not durable on purpose, and without a word when it fails: it can be derived.
fn write(path: &Path, sum: &Sum) {
    let write = || -> std::io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(sum)?)?;
        file.persist(path)?;
        Ok(())
    };
    let _ = write();
}
