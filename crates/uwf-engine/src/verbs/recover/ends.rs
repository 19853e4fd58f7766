//! Thread-end nodes without a known thread: the thread was removed, or its line in the history was lost.

use std::collections::HashSet;

use json_cas::NodeHash;
use uwf_core::node::{NodeKind, ThreadEnd};

use crate::error::Result;
use crate::root::home::Home;
use crate::root::type_index::TypeIndex;
use crate::thread::nodes;

/// Ends whose thread is unknown: a node does not name its thread, and threads may share nodes.
pub(super) struct OrphanThreadEnds(Vec<ThreadEnd>);

impl OrphanThreadEnds {
    /// Looks through all nodes for ends that are not `named`. Skips damaged ends.
    pub(super) fn read(home: &Home, named: &HashSet<NodeHash>) -> Result<OrphanThreadEnds> {
        let all = home.store().objects().list(None)?;
        let mut types = TypeIndex::load(home);
        types.learn(&all)?;
        let is_end = |node: &NodeHash| {
            !named.contains(node)
                && types.type_of(*node).is_ok_and(|of| NodeKind::from_type_hash(of) == Some(NodeKind::ThreadEnd))
        };
        let ends: Vec<NodeHash> = all.into_iter().filter(is_end).collect();
        types.save();
        let mut read = Vec::with_capacity(ends.len());
        for end in ends {
            match nodes::typed::<ThreadEnd>(home.store(), end) {
                Ok(end) => read.push(end),
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(OrphanThreadEnds(read))
    }

    /// Whether a thread has ended at this head.
    pub(super) fn has_at(&self, head: NodeHash) -> bool {
        self.0.iter().any(|end| end.last_step.unwrap_or(end.start) == head)
    }

    /// Whether a thread with this start has ended, at any head.
    pub(super) fn has_of(&self, start: NodeHash) -> bool {
        self.0.iter().any(|end| end.start == start)
    }
}
