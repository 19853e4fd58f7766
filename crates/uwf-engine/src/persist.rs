//! Before a head moves: is this really the step it was expected to be, and is all of it safely stored?

use json_cas::{Hash, StoreError};
use uwf_core::node::{Kind, StepNode};
use uwf_core::workflow::Role;

use crate::error::{self, Error, Result};
use crate::load::{self, Thread};

/// Checks a StepNode that an agent named as its result, and makes everything below it durable when somebody other than
/// uwf wrote it (`synced` is false). Gives the thread as it stands once its head is there.
///
/// # Errors
/// `AgentFailed` with what is wrong: the node, its start, its predecessor, its role, its output, its detail. `Io` when it
/// cannot be told.
pub fn verify<'h>(
    thread: &Thread<'h>,
    role_name: &str,
    role: &Role,
    step_hash: Hash,
    synced: bool,
) -> Result<Thread<'h>> {
    let store = thread.home().store();
    let node = store.get(step_hash).map_err(|error| unreadable(step_hash, "it is not readable", error))?;
    if Kind::of(node.type_hash) != Some(Kind::StepNode) {
        return Err(refuse(step_hash, &format!("it is a {}, not a StepNode", load::title(store, &node))));
    }
    let step: StepNode = load::payload(step_hash, &node).map_err(|error| refuse(step_hash, &error.message))?;
    let expected_prev = thread.last.is_some().then_some(thread.head);
    if step.start != thread.start_hash {
        return Err(refuse(
            step_hash,
            &format!("it belongs to another thread (start {}, expected {})", step.start, thread.start_hash),
        ));
    }
    if step.prev != expected_prev {
        return Err(refuse(
            step_hash,
            &format!("its predecessor is {}, expected {}", shown(step.prev), shown(expected_prev)),
        ));
    }
    if step.role != role_name {
        return Err(refuse(step_hash, &format!("its role is `{}`, expected `{role_name}`", step.role)));
    }
    let output = store.get(step.output).map_err(|error| unreadable(step_hash, "its output is not readable", error))?;
    if output.type_hash != role.meta {
        return Err(refuse(
            step_hash,
            &format!("its output has type {}, role `{role_name}` wants {}", output.type_hash, role.meta),
        ));
    }
    let violations = store.schema(role.meta)?.violations(&output.payload);
    if let Some(first) = violations.first() {
        return Err(refuse(step_hash, &format!("its output does not fit the role's schema: {}", first.message)));
    }
    store.get(step.detail).map_err(|error| unreadable(step_hash, "its detail is not readable", error))?;
    if !synced {
        sync_new(thread, step_hash, &step)?;
    }
    Ok(thread.moved_to(step_hash, step, node.timestamp))
}

/// Syncs everything reachable from a step but not from the one before it. The walk stops at what the thread already
/// had: its start and the previous step.
fn sync_new(thread: &Thread<'_>, step_hash: Hash, step: &StepNode) -> Result<()> {
    let store = thread.home().store();
    let mut hashes = vec![step_hash];
    for found in store.walk(&[step.output, step.detail], json_cas::WalkOptions::default()) {
        let (hash, _) = found.map_err(|error| unreadable(step_hash, "part of it is missing", error))?;
        hashes.push(hash);
    }
    store.objects().sync(&hashes)?;
    Ok(())
}

/// A disk that cannot be read says nothing about the agent's work: refused, it would be thrown away and paid for again.
fn unreadable(step: Hash, what: &str, error: StoreError) -> Error {
    match error {
        StoreError::Io { .. } => error.into(),
        other => refuse(step, &format!("{what}: {other}")),
    }
}

fn refuse(step: Hash, why: &str) -> Error {
    Error::new(error::Kind::AgentFailed, format!("the agent's result {step} was refused: {why}"))
        .hint("the node is kept; nothing was linked")
}

fn shown(hash: Option<Hash>) -> String {
    hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string())
}
