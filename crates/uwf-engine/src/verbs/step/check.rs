//! Checks before a head moves: is this the expected step, and are all its nodes stored safely?

use json_cas::{NodeHash, StoreError};
use uwf_core::node::{NodeKind, StepNode};
use uwf_core::workflow::Role;

use crate::error::{Error, Result};
use crate::thread::closure::{self, ClosureBounds, ClosureFault};
use crate::thread::digest::{DigestBuilder, ThreadDigest};
use crate::thread::load::Thread;
use crate::thread::message;
use crate::thread::nodes;

/// A sound step.
pub(super) struct SoundStep<'h> {
    /// The thread with this step as its head.
    pub(super) thread: Thread<'h>,
    /// The digest at this step, if its predecessor has one.
    pub(super) digest: Option<ThreadDigest>,
    /// All nodes that must be durable first.
    pub(super) nodes: Vec<NodeHash>,
}

/// Checks a StepNode that an agent named as its result, with all nodes it brings along. `before` is the digest at the head.
///
/// An agent can be any program, and any process of the same user can write to the record. So this check runs for fresh and adopted
/// results alike, whatever the record says.
///
/// # Errors
/// `AgentFailed` with the fault: the node, its start, its predecessor, its role, its output, or any node below. `Io` if the check itself
/// fails.
pub(super) fn step<'h>(
    thread: &Thread<'h>,
    role_name: &str,
    role: &Role,
    step_hash: NodeHash,
    before: Option<ThreadDigest>,
) -> Result<SoundStep<'h>> {
    let store = thread.home().store();
    let node = store.get(step_hash).map_err(|error| unreadable(step_hash, "it is not readable", error))?;
    if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
        return Err(refuse(step_hash, &format!("it is a {}, not a StepNode", nodes::title(store, &node))));
    }
    let step: StepNode = nodes::payload(step_hash, &node).map_err(|error| refuse(step_hash, &error.to_string()))?;
    check_place(thread, role_name, step_hash, &step)?;
    let output = store.get(step.output).map_err(|error| unreadable(step_hash, "its output is not readable", error))?;
    if output.type_hash != role.meta {
        return Err(refuse(
            step_hash,
            &format!("its output has type {}, role `{role_name}` needs {}", output.type_hash, role.meta),
        ));
    }
    let violations = store.schema(role.meta)?.violations(&output.payload);
    if let Some(first) = violations.first() {
        return Err(refuse(step_hash, &format!("its output does not fit the role's schema: {}", first.message)));
    }
    store.get(step.detail).map_err(|error| unreadable(step_hash, "its detail is not readable", error))?;
    let mut digester = DigestBuilder::default();
    let sound = closure::check(store, &ClosureBounds::of_step(step_hash, &step), |part| digester.add(part))
        .map_err(|unsound| unsound_step(step_hash, unsound))?;
    // Every later prompt reads this.
    message::of_detail(store, step.detail, None).map_err(|error| match error.kind.is_of_the_moment() {
        true => error,
        false => refuse(step_hash, &format!("its detail cannot be read: {}", error.message)),
    })?;
    let digest = before.map(|before| digester.after(Some(before)));
    Ok(SoundStep { thread: thread.moved_to(step_hash, step, node.timestamp), digest, nodes: sound.nodes })
}

/// Whether a step is the next of its thread, by this role.
fn check_place(thread: &Thread<'_>, role_name: &str, step_hash: NodeHash, step: &StepNode) -> Result<()> {
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
    Ok(())
}

fn unsound_step(step: NodeHash, unsound: ClosureFault) -> Error {
    unsound.why().map_or_else(Error::from, |why| refuse(step, &why))
}

/// The error for an unreadable result. A temporary failure says nothing about the agent's work: rejecting the work would throw it away
/// and pay for it again.
fn unreadable(step: NodeHash, what: &str, error: StoreError) -> Error {
    if error.is_of_the_moment() { error.into() } else { refuse(step, &format!("{what}: {error}")) }
}

fn refuse(step: NodeHash, why: &str) -> Error {
    refused(format!("the agent's result {step} was refused: {why}"))
}

/// The rejection of a result that is not the expected step.
pub(super) fn refused(message: String) -> Error {
    Error::agent_failed(message).hint("the node is kept; nothing was linked")
}

fn shown(hash: Option<NodeHash>) -> String {
    hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string())
}
