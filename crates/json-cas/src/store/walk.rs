//! Follows references.

use std::collections::{HashSet, VecDeque};

use super::Store;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::Node;

/// Options of a walk.
#[derive(Debug, Copy, Clone, Default, Eq, PartialEq)]
pub struct WalkOptions {
    /// Also visit the types of nodes, up to the meta-schema.
    pub types: bool,
}

impl Store {
    /// The nodes that a node references, in order of appearance, each once. A string is a reference if any subschema of the type that can
    /// apply to it has the format `cas_ref`, whether or not that branch validated. A schema node references nothing.
    pub fn refs(&self, node: &Node) -> Result<Vec<NodeHash>, StoreError> {
        Ok(self.references(node.type_hash)?.find_in(&node.payload))
    }

    /// Everything reachable from `roots`, breadth first, each node once. Missing or corrupt nodes are errors among the items, and the walk
    /// continues.
    pub fn walk(&self, roots: &[NodeHash], options: WalkOptions) -> NodeWalk<'_> {
        let mut walk = NodeWalk { store: self, options, queue: VecDeque::new(), seen: HashSet::new(), failed: None };
        for root in roots {
            walk.enqueue(*root, None);
        }
        walk
    }
}

/// The iterator of [`Store::walk`].
#[derive(Debug)]
pub struct NodeWalk<'s> {
    store: &'s Store,
    options: WalkOptions,
    /// Nodes to visit, each with a node that references it.
    queue: VecDeque<(NodeHash, Option<NodeHash>)>,
    seen: HashSet<NodeHash>,
    /// Why the references of the last node are unknown.
    failed: Option<StoreError>,
}

impl NodeWalk<'_> {
    fn enqueue(&mut self, hash: NodeHash, parent: Option<NodeHash>) {
        if self.seen.insert(hash) {
            self.queue.push_back((hash, parent));
        }
    }

    fn visit(&mut self, hash: NodeHash, parent: Option<NodeHash>) -> Result<(NodeHash, Node), StoreError> {
        let node = match (self.store.try_get(hash)?, parent) {
            (Some(node), _) => node,
            (None, Some(parent)) => return Err(StoreError::Dangling { hash, parent }),
            (None, None) => return Err(StoreError::NotFound { hash }),
        };
        match self.store.refs(&node) {
            Ok(refs) => {
                for child in refs {
                    self.enqueue(child, Some(hash));
                }
            }
            Err(error) => self.failed = Some(error),
        }
        if self.options.types && !self.store.is_stand_in(node.type_hash)? {
            self.enqueue(node.type_hash, Some(hash));
        }
        Ok((hash, node))
    }
}

impl Iterator for NodeWalk<'_> {
    type Item = Result<(NodeHash, Node), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let (hash, parent) = self.queue.pop_front()?;
        Some(self.visit(hash, parent))
    }
}
