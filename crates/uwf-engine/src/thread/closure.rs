//! What a step brings along: the nodes that can be reached from it without going through the step before it. Whoever reads
//! the thread later relies on them, so each of them is checked before a head may lead there.

use std::collections::{HashMap, HashSet, VecDeque};

use json_cas::{Hash, Node, Store, StoreError};
use serde_json::Value;
use uwf_core::node::{self, NodeKind, StepNode};

/// A node of a closure.
pub struct Part {
    /// Its hash.
    pub hash: Hash,
    /// The node.
    pub node: Node,
    /// Its payload as canonical CBOR.
    pub cbor: Vec<u8>,
}

/// What is wrong with a closure.
#[derive(Debug)]
pub enum Unsound {
    /// A node cannot be read, or its references cannot be told.
    Unreadable(StoreError),
    /// A node is not what it should be.
    Unfit(String),
}

impl Unsound {
    /// What is wrong in words; the error itself when it says something about the disk at this moment and nothing about
    /// the nodes.
    ///
    /// # Errors
    /// `Io`.
    pub fn why(self) -> Result<String, StoreError> {
        match self {
            Unsound::Unreadable(error) if error.is_of_the_moment() => Err(error),
            Unsound::Unreadable(error) => Ok(error.to_string()),
            Unsound::Unfit(why) => Ok(why),
        }
    }
}

impl From<StoreError> for Unsound {
    fn from(error: StoreError) -> Unsound {
        Unsound::Unreadable(error)
    }
}

/// What the closure of a sound step consists of.
#[derive(Debug)]
pub struct Sound {
    /// Its nodes and the types they need that are not uwf's own: all that must be durable.
    pub nodes: Vec<Hash>,
}

/// What is gone through: from where, and where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Nodes it begins at.
    pub roots: Vec<Hash>,
    /// Nodes that belong to what came before, wherever they are referred to.
    pub outside: Vec<Hash>,
}

impl Bounds {
    /// All that a step brings along: neither its start nor the step before it.
    pub fn of_step(hash: Hash, step: &StepNode) -> Bounds {
        Bounds { roots: vec![hash], outside: [step.start].into_iter().chain(step.prev).collect() }
    }

    /// Everything below a node.
    pub fn below(hash: Hash) -> Bounds {
        Bounds { roots: vec![hash], outside: Vec::new() }
    }
}

/// Shows every node of a closure once. The head that the StartNode of a child thread names as its parent's is outside of
/// every closure: the history of the parent is not what the child is made of.
///
/// # Errors
/// The first node that cannot be read.
pub fn each(store: &Store, bounds: &Bounds, mut visit: impl FnMut(&Part)) -> Result<(), StoreError> {
    let mut seen: HashSet<Hash> = bounds.outside.iter().chain(&bounds.roots).copied().collect();
    let mut queue: VecDeque<_> = bounds.roots.iter().map(|root| (*root, None)).collect();
    while let Some((hash, parent)) = queue.pop_front() {
        let (node, cbor) = store.get_encoded(hash).map_err(|error| match (error, parent) {
            (StoreError::NotFound { hash }, Some(parent)) => StoreError::Dangling { hash, parent },
            (error, _) => error,
        })?;
        let parent_head = parent_head(&node);
        let refs = store.refs(&node)?;
        visit(&Part { hash, node, cbor });
        let new = refs.into_iter().filter(|found| Some(*found) != parent_head && seen.insert(*found));
        queue.extend(new.map(|found| (found, Some(hash))));
    }
    Ok(())
}

fn parent_head(node: &Node) -> Option<Hash> {
    NodeKind::of(node.type_hash).filter(|kind| *kind == NodeKind::StartNode)?;
    hash_in(node.payload.get("parent")?)
}

/// Checks a closure: each node is there, has its hash and fits its type, each type is there, and what uwf's own nodes refer
/// to is of the kind that readers rely on. `visit` is shown each node before its own check.
///
/// # Errors
/// What is wrong first.
pub fn check(store: &Store, bounds: &Bounds, mut visit: impl FnMut(&Part)) -> Result<Sound, Unsound> {
    let mut kinds = HashMap::new();
    let mut wanted = Vec::new();
    let mut types = HashSet::new();
    let mut unsound = None;
    each(store, bounds, |part| {
        visit(part);
        kinds.insert(part.hash, NodeKind::of(part.node.type_hash));
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
        // What is not in the closure was checked when it became part of the thread.
        if kinds.get(&child).is_some_and(|found| *found != Some(kind)) {
            let why =
                format!("`{field}` of node {hash} refers to {child}, which is not a node of type {}", kind.title());
            return Err(Unsound::Unfit(why));
        }
    }
    types.retain(|hash| *hash != json_cas::bootstrap::HASH && !is_own(*hash));
    Ok(Sound { nodes: kinds.into_keys().chain(stored_types(store, types)?).collect() })
}

/// Types with those that type them, as far as they are stored: uwf knows some that other programs write by.
fn stored_types(store: &Store, types: HashSet<Hash>) -> Result<HashSet<Hash>, StoreError> {
    let mut found = HashSet::new();
    let mut queue: Vec<Hash> = types.into_iter().collect();
    while let Some(hash) = queue.pop() {
        if let Some(node) = store.try_get(hash)?
            && found.insert(hash)
        {
            queue.push(node.type_hash);
        }
    }
    Ok(found)
}

/// Whether a node's payload is what its type says, neither more nor less.
fn fits(store: &Store, part: &Part) -> Result<(), Unsound> {
    let schema = match store.schema(part.node.type_hash) {
        Err(error) if error.is_of_the_moment() => return Err(error.into()),
        Err(error) => return Err(Unsound::Unfit(format!("the type of node {} cannot be used: {error}", part.hash))),
        Ok(schema) => schema,
    };
    if schema.is_valid(&part.node.payload) {
        return Ok(());
    }
    let first = schema.violations(&part.node.payload).first().map(ToString::to_string).unwrap_or_default();
    let title =
        NodeKind::of(part.node.type_hash).map_or_else(|| "its type".to_owned(), |kind| format!("`{}`", kind.title()));
    Err(Unsound::Unfit(format!("node {} does not fit {title}: {first}", part.hash)))
}

/// The references of one of uwf's own nodes, with the kind each must be of.
fn wants(node: &Node) -> impl Iterator<Item = (&'static str, NodeKind, Hash)> {
    let fields: &[(&'static str, NodeKind)] = match NodeKind::of(node.type_hash).filter(|_| is_own(node.type_hash)) {
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
        one => hash_in(one).into_iter().collect::<Vec<Hash>>(),
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

fn is_own(type_hash: Hash) -> bool {
    node::OWN_TYPES.iter().any(|own| own.hash == type_hash)
}

fn hash_in(value: &Value) -> Option<Hash> {
    value.as_str()?.parse().ok()
}
