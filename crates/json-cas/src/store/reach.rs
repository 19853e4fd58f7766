//! Finds the reachable nodes, and the order in which unreachable ones can be removed.

use std::collections::{HashMap, HashSet};

use super::Store;
use super::layers::NodeLayers;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::Node;
use crate::objects::READ_AT_ONCE;

/// How to treat a missing node, either a root or a node below one.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum MissingNodePolicy {
    /// Fail, because it is unknown what else is reachable.
    Fails,
    /// Ignore it, because there is nothing to reach.
    IsFine,
}

/// Everything reachable from some nodes, including types. It grows with each added root, and reads each node once.
#[derive(Debug)]
pub struct ReachableNodes<'s> {
    store: &'s Store,
    nodes: HashSet<NodeHash>,
}

/// Why following a root ended early.
#[derive(Debug)]
pub struct ReachFailure {
    /// The root.
    pub root: NodeHash,
    /// The problem with the root, or with a node below it.
    pub source: StoreError,
}

/// A node to be read.
struct QueuedNode {
    hash: NodeHash,
    /// A node that references it.
    parent: Option<NodeHash>,
    /// The root from which it was reached.
    root: NodeHash,
}

impl Store {
    /// An empty set of reached nodes.
    pub fn reach(&self) -> ReachableNodes<'_> {
        ReachableNodes { store: self, nodes: HashSet::new() }
    }

    /// These nodes in a safe order of removal. Each is in a layer after all nodes that reference it or have it as their type, so that an
    /// existing node never lacks what it references. An unreadable node references nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend fails.
    pub fn layers(&self, nodes: &[NodeHash]) -> Result<NodeLayers, StoreError> {
        let mut referrers: HashMap<NodeHash, usize> = nodes.iter().map(|hash| (*hash, 0)).collect();
        let mut references = HashMap::with_capacity(nodes.len());
        for batch in nodes.chunks(READ_AT_ONCE) {
            for (hash, node) in batch.iter().zip(self.try_get_all(batch)?) {
                let mut below = self.leads_to(node)?;
                below.retain(|to| to != hash && referrers.contains_key(to));
                for to in &below {
                    *referrers.entry(*to).or_default() += 1;
                }
                references.insert(*hash, below);
            }
        }
        let mut layers = Vec::new();
        let mut layer: Vec<NodeHash> = nodes.iter().copied().filter(|hash| referrers[hash] == 0).collect();
        while !layer.is_empty() {
            let mut next = Vec::new();
            for to in layer.iter().filter_map(|hash| references.remove(hash)).flatten() {
                let left = referrers.entry(to).or_default();
                *left -= 1;
                if *left == 0 {
                    next.push(to);
                }
            }
            layers.push(std::mem::replace(&mut layer, next));
        }
        Ok(NodeLayers(layers))
    }

    /// Type and references of a node, each once, as far as they are readable.
    fn leads_to(&self, node: Result<Option<Node>, StoreError>) -> Result<Vec<NodeHash>, StoreError> {
        let node = match node {
            Err(error) if error.is_of_the_moment() => return Err(error),
            Err(_) | Ok(None) => return Ok(Vec::new()),
            Ok(Some(node)) => node,
        };
        let mut below = match self.refs(&node) {
            Err(error) if error.is_of_the_moment() => return Err(error),
            Err(_) => Vec::new(),
            Ok(refs) => refs,
        };
        if !below.contains(&node.type_hash) {
            below.push(node.type_hash);
        }
        Ok(below)
    }
}

impl ReachableNodes<'_> {
    /// Adds everything reachable from a root, and returns the newly reached nodes.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the root and [`StoreError::Dangling`] for nodes below it, unless `missing` is [`MissingNodePolicy::IsFine`]; the
    /// same for [`StoreError::UnknownType`]. [`StoreError::Corrupt`] and [`StoreError::Io`] always, because the references of an
    /// unreadable node are unknown.
    pub fn add(&mut self, root: NodeHash, missing: MissingNodePolicy) -> Result<Vec<NodeHash>, StoreError> {
        let mut new = Vec::new();
        self.follow(&[root], missing, &mut |hash, _| new.push(hash)).map_err(|stopped| stopped.source)?;
        Ok(new)
    }

    /// Adds everything reachable from these roots, reading many nodes at once. Calls `progress` after each node with the number of reached
    /// nodes.
    ///
    /// # Errors
    /// Like [`ReachableNodes::add`], with the root at fault.
    pub fn add_all(
        &mut self,
        roots: &[NodeHash],
        missing: MissingNodePolicy,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), ReachFailure> {
        self.follow(roots, missing, &mut |_, reached| progress(reached))
    }

    /// Reads the open nodes, the newest ones first, so that few are open at a time, whatever there is to reach. Calls `new` for each
    /// existing node, with the number of nodes reached by then.
    fn follow(
        &mut self,
        roots: &[NodeHash],
        missing: MissingNodePolicy,
        new: &mut dyn FnMut(NodeHash, usize),
    ) -> Result<(), ReachFailure> {
        let is_new = |root: &&NodeHash| self.nodes.insert(**root);
        let first = roots.iter().filter(is_new).map(|root| QueuedNode { hash: *root, parent: None, root: *root });
        let mut open: Vec<QueuedNode> = first.collect();
        open.reverse();
        while !open.is_empty() {
            let mut batch = open.split_off(open.len().saturating_sub(READ_AT_ONCE));
            batch.reverse();
            let hashes: Vec<NodeHash> = batch.iter().map(|open| open.hash).collect();
            let stopped = |root: NodeHash| move |source: StoreError| ReachFailure { root, source };
            let read = self.store.try_get_all(&hashes).map_err(stopped(batch[0].root))?;
            for (QueuedNode { hash, parent, root }, node) in batch.into_iter().zip(read) {
                let Some(node) = node.map_err(stopped(root))? else {
                    match (missing, parent) {
                        (MissingNodePolicy::IsFine, _) => continue,
                        (MissingNodePolicy::Fails, Some(parent)) => {
                            return Err(stopped(root)(StoreError::Dangling { hash, parent }));
                        }
                        (MissingNodePolicy::Fails, None) => return Err(stopped(root)(StoreError::NotFound { hash })),
                    }
                };
                new(hash, self.nodes.len());
                for to in self.below(&node, missing).map_err(stopped(root))? {
                    if self.nodes.insert(to) {
                        open.push(QueuedNode { hash: to, parent: Some(hash), root });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a node was reached.
    pub fn has(&self, hash: NodeHash) -> bool {
        self.nodes.contains(&hash)
    }

    /// Number of reached nodes, including missing ones.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node was reached.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn below(&self, node: &Node, missing: MissingNodePolicy) -> Result<Vec<NodeHash>, StoreError> {
        let mut below = match self.store.refs(node) {
            // Without the type, it is unknown which texts are references.
            Err(StoreError::UnknownType { .. } | StoreError::NotASchema { .. })
                if missing == MissingNodePolicy::IsFine =>
            {
                Vec::new()
            }
            refs => refs?,
        };
        if !self.store.is_stand_in(node.type_hash)? {
            below.push(node.type_hash);
        }
        Ok(below)
    }
}
