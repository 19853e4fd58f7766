//! The closure of a step: the nodes reachable from it without going through the previous step. Readers of the thread rely on them, so
//! each node is checked before a head may reference it.

use std::collections::{HashMap, HashSet, VecDeque};

use json_cas::{Node, NodeHash, Store, StoreError};
use serde_json::Value;
use uwf_core::node::{self, NodeKind, StepNode};

/// A node of a closure.
pub struct ClosureNode {
    /// Its hash.
    pub hash: NodeHash,
    /// The node.
    pub node: Node,
    /// Its payload as canonical CBOR.
    pub cbor: Vec<u8>,
}

/// The fault of a closure.
#[derive(Debug)]
pub enum ClosureFault {
    /// A node, or its references, cannot be read.
    Unreadable(StoreError),
    /// A node has the wrong content.
    Unfit(String),
}

impl ClosureFault {
    /// The fault in words. A temporary read failure says nothing about the nodes, and is returned as the error.
    pub fn why(self) -> Result<String, StoreError> {
        match self {
            ClosureFault::Unreadable(error) if error.is_of_the_moment() => Err(error),
            ClosureFault::Unreadable(error) => Ok(error.to_string()),
            ClosureFault::Unfit(why) => Ok(why),
        }
    }
}

impl From<StoreError> for ClosureFault {
    fn from(error: StoreError) -> ClosureFault {
        ClosureFault::Unreadable(error)
    }
}

/// The closure of a sound step.
#[derive(Debug)]
pub struct SoundClosure {
    /// All nodes that must be durable: the closure, and the types it needs that are not uwf's own.
    pub nodes: Vec<NodeHash>,
}

/// The limits of a walk: where it begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosureBounds {
    /// Nodes at which it begins.
    pub roots: Vec<NodeHash>,
    /// Nodes that belong to earlier steps, wherever they are referenced.
    pub outside: Vec<NodeHash>,
}

impl ClosureBounds {
    /// The closure of a step: without its start and the previous step.
    pub fn of_step(hash: NodeHash, step: &StepNode) -> ClosureBounds {
        ClosureBounds { roots: vec![hash], outside: [step.start].into_iter().chain(step.prev).collect() }
    }

    /// Everything below a node.
    pub fn below(hash: NodeHash) -> ClosureBounds {
        ClosureBounds { roots: vec![hash], outside: Vec::new() }
    }
}

/// Shows every node of a closure once. The parent's head in a child thread's StartNode is outside of every closure: the parent's history
/// is not part of the child.
pub fn each(store: &Store, bounds: &ClosureBounds, mut visit: impl FnMut(&ClosureNode)) -> Result<(), StoreError> {
    let mut seen: HashSet<NodeHash> = bounds.outside.iter().chain(&bounds.roots).copied().collect();
    let mut queue: VecDeque<_> = bounds.roots.iter().map(|root| (*root, None)).collect();
    while let Some((hash, parent)) = queue.pop_front() {
        let (node, cbor) = store.get_encoded(hash).map_err(|error| match (error, parent) {
            (StoreError::NotFound { hash }, Some(parent)) => StoreError::Dangling { hash, parent },
            (error, _) => error,
        })?;
        let parent_head = parent_head(&node);
        let refs = store.refs(&node)?;
        visit(&ClosureNode { hash, node, cbor });
        let new = refs.into_iter().filter(|found| Some(*found) != parent_head && seen.insert(*found));
        queue.extend(new.map(|found| (found, Some(hash))));
    }
    Ok(())
}

fn parent_head(node: &Node) -> Option<NodeHash> {
    NodeKind::from_type_hash(node.type_hash).filter(|kind| *kind == NodeKind::StartNode)?;
    hash_in(node.payload.get("parent")?)
}

/// Checks a closure: each node exists, has its hash and fits its type, each type exists, and the references of uwf's own nodes have the
/// kind that readers rely on. Shows `visit` each node before its own check.
pub fn check(
    store: &Store,
    bounds: &ClosureBounds,
    mut visit: impl FnMut(&ClosureNode),
) -> Result<SoundClosure, ClosureFault> {
    let mut kinds = HashMap::new();
    let mut wanted = Vec::new();
    let mut types = HashSet::new();
    let mut unsound = None;
    each(store, bounds, |part| {
        visit(part);
        kinds.insert(part.hash, NodeKind::from_type_hash(part.node.type_hash));
        wanted.extend(wants(&part.node).map(|(field, kind, child)| (part.hash, field, kind, child)));
        types.insert(part.node.type_hash);
        if unsound.is_none() {
            unsound = fits(store, part).err();
        }
    })?;
    if let Some(unsound) = unsound {
        return Err(unsound);
    }
    for (hash, field, kind, child) in wanted {
        // Nodes outside the closure were checked when they became part of the thread.
        if kinds.get(&child).is_some_and(|found| *found != Some(kind)) {
            let why =
                format!("`{field}` of node {hash} refers to {child}, which is not a node of type {}", kind.title());
            return Err(ClosureFault::Unfit(why));
        }
    }
    types.retain(|hash| *hash != json_cas::bootstrap::HASH && !is_own(*hash));
    Ok(SoundClosure { nodes: kinds.into_keys().chain(stored_types(store, types)?).collect() })
}

/// The stored ones of these types, with their own types. uwf knows some types that only other programs store.
fn stored_types(store: &Store, types: HashSet<NodeHash>) -> Result<HashSet<NodeHash>, StoreError> {
    let mut found = HashSet::new();
    let mut queue: Vec<NodeHash> = types.into_iter().collect();
    while let Some(hash) = queue.pop() {
        if let Some(node) = store.try_get(hash)?
            && found.insert(hash)
        {
            queue.push(node.type_hash);
        }
    }
    Ok(found)
}

/// Checks that a node's payload fits its type.
fn fits(store: &Store, part: &ClosureNode) -> Result<(), ClosureFault> {
    let schema = match store.schema(part.node.type_hash) {
        Err(error) if error.is_of_the_moment() => return Err(error.into()),
        Err(error) => {
            return Err(ClosureFault::Unfit(format!("the type of node {} cannot be used: {error}", part.hash)));
        }
        Ok(schema) => schema,
    };
    if schema.is_valid(&part.node.payload) {
        return Ok(());
    }
    let first = schema.violations(&part.node.payload).first().map(ToString::to_string).unwrap_or_default();
    let title = NodeKind::from_type_hash(part.node.type_hash)
        .map_or_else(|| "its type".to_owned(), |kind| format!("`{}`", kind.title()));
    Err(ClosureFault::Unfit(format!("node {} does not fit {title}: {first}", part.hash)))
}

/// The references of one of uwf's own nodes, with the required kind of each.
fn wants(node: &Node) -> impl Iterator<Item = (&'static str, NodeKind, NodeHash)> {
    let fields: &[(&'static str, NodeKind)] =
        match NodeKind::from_type_hash(node.type_hash).filter(|_| is_own(node.type_hash)) {
            Some(NodeKind::StartNode) => &[("workflow", NodeKind::Workflow)],
            Some(NodeKind::StepNode) => &[("start", NodeKind::StartNode), ("prev", NodeKind::StepNode)],
            Some(NodeKind::ReactSession) => &[
                ("agent", NodeKind::Agent),
                ("turns", NodeKind::ReactTurn),
                ("raw", NodeKind::Content),
                ("attempts", NodeKind::Attempt),
            ],
            Some(NodeKind::ReactTurn) => {
                &[("input", NodeKind::Content), ("output", NodeKind::Content), ("toolCalls", NodeKind::ReactToolCall)]
            }
            Some(NodeKind::ReactToolCall) => &[("arguments", NodeKind::Content), ("result", NodeKind::Content)],
            Some(NodeKind::Attempt) => &[
                ("agent", NodeKind::Agent),
                ("raw", NodeKind::Content),
                ("stderr", NodeKind::Content),
                ("turns", NodeKind::ReactTurn),
            ],
            _ => &[],
        };
    let referred = |value: &Value| match value {
        Value::Array(items) => items.iter().filter_map(hash_in).collect(),
        one => hash_in(one).into_iter().collect::<Vec<NodeHash>>(),
    };
    let found: Vec<_> = fields
        .iter()
        .flat_map(|(field, kind)| {
            let hashes = node.payload.get(field).map(referred).unwrap_or_default();
            hashes.into_iter().map(|hash| (*field, *kind, hash))
        })
        .collect();
    found.into_iter()
}

fn is_own(type_hash: NodeHash) -> bool {
    node::OWN_TYPES.iter().any(|own| own.hash == type_hash)
}

fn hash_in(value: &Value) -> Option<NodeHash> {
    value.as_str()?.parse().ok()
}
