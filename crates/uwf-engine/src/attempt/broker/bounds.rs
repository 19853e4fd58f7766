//! Access limits for the processes of an attempt.
//!
//! They may read all nodes reachable from their thread's head, by references or by hashes in texts, and the attempts at
//! this position. They may store any node except those that only uwf writes; a StepNode only at the position of the
//! attempt. They may also read the nodes they stored, but not what those nodes reference. Otherwise, a stored reference
//! would give access to any node.

use std::collections::HashSet;

use json_cas::{Node, NodeDraft, NodeHash, Store, bootstrap};
use parking_lot::Mutex;
use serde_json::Value;
use uwf_core::node::{self, NodeKind, StepNode};

use crate::attempt::recorded::AttemptOpening;
use crate::error::Result;
use crate::root::broker_link::wire::BrokerFailure;
use crate::root::home::Home;
use crate::thread::chain::StepChain;
use crate::thread::load::Thread;

/// Most bytes of nodes that an attempt may store: a hundred outputs of the maximum size with their traces.
const MAX_STORED: u64 = 4 << 30;

/// Access limits of an attempt.
pub(super) struct AttemptAccessLimits {
    start: NodeHash,
    prev: Option<NodeHash>,
    role: String,
    known: Mutex<NodeSets>,
}

#[derive(Default)]
struct NodeSets {
    /// Nodes of the thread.
    of_thread: HashSet<NodeHash>,
    /// Nodes that the attempt stored and that are not known to belong to the thread.
    own: HashSet<NodeHash>,
    /// Bytes it stored.
    stored: u64,
}

impl AttemptAccessLimits {
    /// Computes the access limits of an attempt.
    ///
    /// # Errors
    /// An unreadable node of its thread.
    pub(super) fn for_planned_attempt(home: &Home, opened: &AttemptOpening) -> Result<AttemptAccessLimits> {
        let thread = Thread::load_at(home, opened.thread.clone(), opened.expected_head)?;
        let mut of_thread: HashSet<NodeHash> = node::OWN_TYPES.iter().map(|own| own.hash).collect();
        of_thread.extend([bootstrap::HASH, thread.head, thread.start_hash]);
        of_thread.extend(thread.workflow()?.roles.values().map(|role| role.meta));
        of_thread.extend(opened.earlier.iter().chain(&opened.reextract));
        let exchanges = opened.replies.iter();
        of_thread.extend(exchanges.flat_map(|exchange| [exchange.attempt, exchange.question, exchange.reply]));
        // Without them, each step references the previous one.
        for record in thread.chain().map(StepChain::records).unwrap_or_default() {
            of_thread.extend([record.step, record.output, record.detail]);
        }
        let prev = thread.last.is_some().then_some(thread.head);
        let known = Mutex::new(NodeSets { of_thread, ..NodeSets::default() });
        Ok(AttemptAccessLimits { start: thread.start_hash, prev, role: opened.role.clone(), known })
    }

    /// Rejects nodes that don't belong to the thread.
    pub(super) fn check_read(&self, hashes: &[NodeHash]) -> std::result::Result<(), BrokerFailure> {
        let known = self.known.lock();
        let is_known = |hash: &&NodeHash| known.of_thread.contains(hash) || known.own.contains(hash);
        match hashes.iter().find(|hash| !is_known(hash)) {
            None => Ok(()),
            Some(other) => {
                Err(BrokerFailure::refused(format!("node {other} does not belong to the thread of this agent")))
            }
        }
    }

    /// Lets the attempt read the nodes that a node of the thread references.
    pub(super) fn opened(&self, store: &Store, hash: NodeHash, bytes: &[u8]) {
        if !self.known.lock().of_thread.contains(&hash) {
            return;
        }
        let Some(node) = Node::stored_as(hash, bytes) else { return };
        // The references of an unknown type are unknown. Hashes in texts are still found.
        let mut found = store.refs(&node).unwrap_or_default();
        found.push(node.type_hash);
        in_texts(&node.payload, &mut found);
        self.known.lock().of_thread.extend(found);
    }

    /// The drafts of nodes that the attempt wants to store.
    pub(super) fn drafts(
        &self,
        hashes: &[NodeHash],
        parts: &[Vec<u8>],
    ) -> std::result::Result<Vec<NodeDraft>, BrokerFailure> {
        if hashes.len() != parts.len() {
            return Err(BrokerFailure::refused("not a node for each hash"));
        }
        let size = parts.iter().map(|part| part.len() as u64).sum::<u64>();
        if self.known.lock().stored.saturating_add(size) > MAX_STORED {
            return Err(BrokerFailure::refused(format!("an attempt stores at most {MAX_STORED} bytes")));
        }
        hashes.iter().zip(parts).map(|(hash, bytes)| self.draft(*hash, bytes)).collect()
    }

    fn draft(&self, hash: NodeHash, bytes: &[u8]) -> std::result::Result<NodeDraft, BrokerFailure> {
        let refuse = |why: &str| BrokerFailure::refused(format!("node {hash} is not stored for an agent: {why}"));
        let node = Node::stored_as(hash, bytes).ok_or_else(|| refuse("its bytes have a different hash"))?;
        match NodeKind::from_type_hash(node.type_hash) {
            Some(kind @ (NodeKind::Workflow | NodeKind::StartNode | NodeKind::ThreadEnd)) => {
                return Err(refuse(&format!("no agent makes a {}", kind.title())));
            }
            Some(NodeKind::StepNode) => {
                let step: StepNode =
                    serde_json::from_value(node.payload.clone()).map_err(|error| refuse(&error.to_string()))?;
                if step.start != self.start || step.prev != self.prev || step.role != self.role {
                    return Err(refuse("it is not the next step of this thread by this role"));
                }
            }
            _ => {}
        }
        let typed = NodeDraft::new(node.type_hash, node.payload.clone());
        let draft = typed.ok().filter(|draft| draft.hash() == hash);
        // A schema can be its own type.
        let draft = draft.or_else(|| NodeDraft::self_typed(node.payload).ok().filter(|draft| draft.hash() == hash));
        draft.ok_or_else(|| refuse("its payload cannot be written"))
    }

    /// Records nodes that were stored for the attempt.
    pub(super) fn stored(&self, drafts: &[NodeDraft]) {
        let mut known = self.known.lock();
        known.stored += drafts.iter().map(|draft| draft.cbor().len() as u64).sum::<u64>();
        let new: Vec<NodeHash> =
            drafts.iter().map(NodeDraft::hash).filter(|hash| !known.of_thread.contains(hash)).collect();
        known.own.extend(new);
    }
}

/// Collects the hashes named in the texts of a value: a text may ask an agent to read the node.
fn in_texts(value: &Value, found: &mut Vec<NodeHash>) {
    match value {
        Value::String(text) => {
            let words = text.split(|symbol: char| !symbol.is_ascii_alphanumeric());
            found.extend(
                words.filter(|word| word.len() == NodeHash::LEN).filter_map(|word| word.parse::<NodeHash>().ok()),
            );
        }
        Value::Array(items) => items.iter().for_each(|item| in_texts(item, found)),
        Value::Object(map) => map.values().for_each(|item| in_texts(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
