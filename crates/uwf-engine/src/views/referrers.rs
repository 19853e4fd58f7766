//! Finds the nodes, threads and names that refer to a node. Nodes are not indexed by their referrers, so it reads them one by one until
//! the time is up.

use std::time::{Duration, Instant};

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::root::history;
use crate::root::home::Home;
use crate::root::registry;
use crate::thread::nodes;

/// Time limit for reading nodes.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of reported nodes. A node with more referrers is a ubiquitous text or type.
const MOST: usize = 200;

/// Referrers of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeReferrers {
    /// Threads with this head, active or ended.
    pub threads: Vec<ThreadId>,
    /// Names of workflows that refer to it.
    pub names: Vec<String>,
    /// Nodes that refer to it.
    pub nodes: Vec<ReferringNode>,
    /// How many nodes were read.
    pub looked_at: usize,
    /// How many nodes exist.
    pub of: usize,
    /// Whether all nodes were read.
    pub is_whole: bool,
}

/// A node that refers to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferringNode {
    /// Its hash.
    pub hash: NodeHash,
    /// Name of its type.
    pub kind: String,
}

/// Finds the referrers of a node. Skips unreadable nodes.
pub fn find_referrers(home: &Home, hash: NodeHash) -> Result<NodeReferrers> {
    within(home, hash, PATIENCE)
}

fn within(home: &Home, hash: NodeHash, patience: Duration) -> Result<NodeReferrers> {
    let begun = Instant::now();
    let store = home.store();
    let active = home.heads().list()?.into_iter().filter(|(_, head)| *head == hash);
    let active = active.filter_map(|(id, _)| id.parse().ok());
    let ended = history::all(home)?.into_iter().filter(|line| line.head == hash).map(|line| line.thread);
    let named = registry::read(home)?.into_iter().filter(|(_, entry)| entry.hash == hash).map(|(name, _)| name);
    let all = store.objects().list(None)?;
    let mut found = NodeReferrers {
        threads: active.chain(ended).collect(),
        names: named.collect(),
        nodes: Vec::new(),
        looked_at: 0,
        of: all.len(),
        is_whole: true,
    };
    for candidate in all {
        if begun.elapsed() >= patience || found.nodes.len() == MOST {
            found.is_whole = false;
            break;
        }
        found.looked_at += 1;
        let Ok(node) = store.get(candidate) else { continue };
        if node.type_hash == hash || store.refs(&node).is_ok_and(|refs| refs.contains(&hash)) {
            found.nodes.push(ReferringNode { hash: candidate, kind: nodes::title(store, &node) });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{ContentNode, ReactTurn, TypedPayload};

    use super::*;

    #[test]
    fn a_search_says_when_it_ended_early() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        crate::root::node_types::ensure(&home).unwrap();
        let text = home.store().put(&ContentNode { text: "a text".to_owned() }.draft()).unwrap();
        let turn = ReactTurn { input: vec![text], output: text, tool_calls: Vec::new(), tokens: None, latency_ms: 1 };
        let turn = home.store().put(&turn.draft()).unwrap();
        let found = find_referrers(&home, text).unwrap();
        assert_eq!(found.nodes, [ReferringNode { hash: turn, kind: "react-turn".to_owned() }]);
        assert_eq!((found.is_whole, found.looked_at), (true, found.of));
        let found = within(&home, text, Duration::ZERO).unwrap();
        assert_eq!((found.is_whole, found.looked_at, found.nodes), (false, 0, Vec::new()));
    }
}
