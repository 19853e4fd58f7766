//! Nodes that the shared store has lost but this machine's cache has.

use std::collections::HashSet;

use json_cas::{NodeHash, ProblemKind};

use crate::error::Result;
use crate::root::home::Home;

/// State of the nodes below a head.
pub(super) enum NodesBelowHead {
    /// All of them are in the store.
    Whole,
    /// The cache of this machine has the missing or damaged nodes, as far as can be known before they are restored.
    Cached,
    /// This node is neither in the store nor in the cache.
    Lacks(NodeHash),
}

/// Checks all nodes below a head in the store itself: a cache would hide lost nodes.
pub(super) fn below(home: &Home, head: NodeHash) -> Result<NodesBelowHead> {
    let lacking = lacking(home, head)?;
    for hash in &lacking {
        if cached(home, *hash)?.is_none() {
            return Ok(NodesBelowHead::Lacks(*hash));
        }
    }
    Ok(if lacking.is_empty() { NodesBelowHead::Whole } else { NodesBelowHead::Cached })
}

/// Restores the missing nodes below a head. Returns how many were restored, or the hash of a node that could not be.
pub(super) fn put_back(home: &Home, head: NodeHash) -> Result<std::result::Result<usize, NodeHash>> {
    let mut done = HashSet::new();
    // The nodes below a missing node are known only after it is restored, so look again.
    loop {
        let lacking = lacking(home, head)?;
        if lacking.is_empty() {
            return Ok(Ok(done.len()));
        }
        for hash in lacking {
            let bytes = cached(home, hash)?;
            let Some(bytes) = bytes.filter(|_| done.insert(hash)) else { return Ok(Err(hash)) };
            home.store().objects().replace(hash, &bytes)?;
        }
    }
}

fn lacking(home: &Home, head: NodeHash) -> Result<Vec<NodeHash>> {
    let problems = home.store().verify(Some(&[head]))?.problems.into_iter();
    let lacking = problems.filter(|problem| matches!(problem.kind, ProblemKind::Missing | ProblemKind::Corrupt));
    Ok(lacking.filter_map(|problem| problem.hash).collect())
}

/// The bytes of a node in the cache, if they match its hash.
fn cached(home: &Home, hash: NodeHash) -> Result<Option<Vec<u8>>> {
    match home.store().try_get(hash) {
        Ok(Some(_)) => Ok(home.store().objects().get(hash)?),
        Err(error) if error.is_of_the_moment() => Err(error.into()),
        Ok(None) | Err(_) => Ok(None),
    }
}
