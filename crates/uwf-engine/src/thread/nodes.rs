//! Reads nodes as the Rust types of their payloads: steps, workflows, attempts, and the node that describes how an output was made.

use json_cas::{Node, NodeHash, Store, StoreError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uwf_core::activity;
use uwf_core::agent_name::AgentName;
use uwf_core::node::{
    self, AttemptNode, ContentNode, NodeKind, ReactSession, ReactToolCall, ReactTurn, StepNode, TracedAttempt,
    TypedPayload,
};
use uwf_core::thread::QuestionReply;
use uwf_core::workflow::Workflow;

use crate::error::{Error, Result};

/// Hint for a missing node.
pub(crate) const BRING_BACK: &str =
    "`uwf cas verify` shows what else is missing; put it back from a backup of cas/, or put the same content again";

/// Reads a node that a thread references.
///
/// # Errors
/// `Data` if it is missing; errors of the store.
pub(crate) fn get(store: &Store, hash: NodeHash) -> Result<Node> {
    store.get(hash).map_err(|error| match error {
        StoreError::NotFound { hash } => {
            Error::data(format!("node {hash} is missing")).hint(BRING_BACK).with_source(error)
        }
        error => error.into(),
    })
}

/// Reads a StepNode, and the time it was first stored (Unix milliseconds).
///
/// # Errors
/// Errors of the store; `Data` if the node has another type.
pub fn step_node(store: &Store, hash: NodeHash) -> Result<(StepNode, u64)> {
    let node = get(store, hash)?;
    if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
        return Err(wrong_kind(store, hash, "StepNode", &node));
    }
    Ok((payload(hash, &node)?, node.timestamp))
}

/// Reads a workflow.
///
/// # Errors
/// Errors of the store; `Data` if the node has another type or is damaged.
pub fn workflow(store: &Store, hash: NodeHash) -> Result<Workflow> {
    let node = get(store, hash)?;
    if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::Workflow) {
        return Err(wrong_kind(store, hash, "Workflow", &node));
    }
    Workflow::from_payload(&node.payload)
        .map_err(|error| Error::data(format!("workflow {hash} is not readable: {error}")))
}

/// Maximum number of nested child threads below a detail. `maxDepth` keeps threads from being nested deeper.
pub(crate) const MAX_NESTING: usize = 64;

/// The node that describes how an output was made. If a workflow played the role, the detail is the last step of a child thread; this is
/// then the describing node of that step.
///
/// # Errors
/// Errors of the nodes; `Data` if steps refer to steps endlessly.
pub fn telling(store: &Store, detail: NodeHash) -> Result<(NodeHash, Node)> {
    let mut at = detail;
    for _ in 0..MAX_NESTING {
        let node = get(store, at)?;
        if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
            return Ok((at, node));
        }
        at = payload::<StepNode>(at, &node)?.detail;
    }
    Err(too_deep(detail))
}

/// The rejection of a detail with too many nested child threads.
pub(crate) fn too_deep(detail: NodeHash) -> Error {
    Error::data(format!("the detail {detail} lies more than {MAX_NESTING} threads deep"))
}

/// How the output of a step was extracted; `None` if its detail does not say.
pub fn extracted_by(store: &Store, detail: NodeHash) -> Result<Option<String>> {
    Ok(extracted_by_of(&telling(store, detail)?.1))
}

pub(crate) fn extracted_by_of(detail: &Node) -> Option<String> {
    detail.payload.get("extractedBy").and_then(Value::as_str).map(str::to_owned)
}

/// Standard keys in the header of an answer, besides the output.
pub(crate) fn header_of(detail: &Node) -> Map<String, Value> {
    let mut extras = detail.payload.get("extras").and_then(Value::as_object).cloned().unwrap_or_default();
    extras.remove(node::DENIED_CALLS);
    extras.remove(node::ANSWERED_BY);
    extras.remove(node::EXCHANGES);
    extras
}

/// Reads the session that a detail is, resumed or not; `None` if the detail is of another kind, or not readable.
pub(crate) fn session(store: &Store, detail: NodeHash) -> Option<ReactSession> {
    let node = get(store, detail).ok()?;
    let is_session = NodeKind::from_type_hash(node.type_hash) == Some(NodeKind::ReactSession);
    is_session.then(|| payload(detail, &node).ok()).flatten()
}

/// The person who gave the answer of a session; `None` for an agent's own answer.
pub(crate) fn answered_by(session: &ReactSession) -> Option<String> {
    session.extras.as_ref()?.get(node::ANSWERED_BY)?.as_str().map(str::to_owned)
}

/// The agent's questions to a person with the replies, oldest first.
pub(crate) fn exchanges(session: &ReactSession) -> Vec<QuestionReply> {
    let exchanges = session.extras.as_ref().and_then(|extras| extras.get(node::EXCHANGES)).cloned();
    exchanges.and_then(|exchanges| serde_json::from_value(exchanges).ok()).unwrap_or_default()
}

/// Tool calls that were denied to the agent of a session.
pub(crate) fn denied_in_session(session: &ReactSession) -> Vec<String> {
    let denied = session.extras.as_ref().and_then(|extras| extras.get(node::DENIED_CALLS));
    let denied = denied.and_then(Value::as_array).into_iter().flatten();
    denied.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Tool calls that were denied to the agent of an attempt without a session, as far as its nodes are readable.
pub(crate) fn denied_in_attempt(store: &Store, attempt: NodeHash) -> Vec<String> {
    let traced: Option<TracedAttempt> = typed(store, attempt).ok();
    let turns = traced.into_iter().flat_map(|traced| traced.turns);
    let calls = turns.filter_map(|turn| typed::<ReactTurn>(store, turn).ok()).flat_map(|turn| turn.tool_calls);
    let calls = calls.filter_map(|call| typed::<ReactToolCall>(store, call).ok());
    let text = |hash| typed::<ContentNode>(store, hash).map(|content| content.text).unwrap_or_default();
    let denied = calls.filter(|call| activity::is_denied(&text(call.result)));
    activity::denied_calls(denied.map(|call| (call.name, text(call.arguments))))
}

/// Reads a payload as its Rust type.
///
/// # Errors
/// `Data` if it does not fit; the message names the node.
pub fn payload<T: DeserializeOwned>(hash: NodeHash, node: &Node) -> Result<T> {
    T::deserialize(&node.payload)
        .map_err(|error| Error::data(format!("node {hash} does not have the shape of its type: {error}")))
}

/// Reads a node that must have the type of this payload.
///
/// # Errors
/// `Data` if the node has another type.
pub fn typed<T: TypedPayload + DeserializeOwned>(store: &Store, hash: NodeHash) -> Result<T> {
    let node = get(store, hash)?;
    if node.type_hash != T::TYPE && !T::LATER.contains(&node.type_hash) {
        let wanted = NodeKind::from_type_hash(T::TYPE).map_or("node", NodeKind::title);
        return Err(wrong_kind(store, hash, wanted, &node));
    }
    payload(hash, &node)
}

/// Reads a failed attempt, with or without a trace.
///
/// # Errors
/// `Data` if the node has another type.
pub fn attempt(store: &Store, hash: NodeHash) -> Result<AttemptNode> {
    let node = get(store, hash)?;
    if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::Attempt) {
        return Err(wrong_kind(store, hash, NodeKind::Attempt.title(), &node));
    }
    payload(hash, &node)
}

/// Whether an attempt failed; an unreadable attempt counts as failed.
pub(crate) fn has_failed(store: &Store, hash: NodeHash) -> bool {
    attempt(store, hash).map_or(true, |attempt| attempt.has_failed())
}

pub(crate) fn wrong_kind(store: &Store, hash: NodeHash, wanted: &'static str, node: &Node) -> Error {
    Error::data(format!("node {hash} is a {}, a {wanted} was expected", title(store, node)))
}

/// Name of a node's type, for people.
pub fn title(store: &Store, node: &Node) -> String {
    if let Some(kind) = NodeKind::from_type_hash(node.type_hash) {
        return kind.title().to_owned();
    }
    let schema = store.try_get(node.type_hash).ok().flatten();
    let title = schema.as_ref().and_then(|schema| schema.payload.get("title")).and_then(Value::as_str);
    title.map_or_else(|| format!("node of type {}", node.type_hash), |title| format!("`{title}` node"))
}

/// The agent's name in the configuration, for the agent of a session.
pub(crate) fn alias(store: &Store, session: &ReactSession) -> Option<String> {
    typed::<node::AgentNode>(store, session.agent).ok().and_then(|agent| AgentName::from(&agent).alias)
}
