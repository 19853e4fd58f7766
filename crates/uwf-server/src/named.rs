//! Finds the thread, step or workflow that a URL names.

use json_cas::NodeHash;
use uwf_core::thread::{ID_LEN, ThreadId};
use uwf_engine::root::home::Home;
use uwf_engine::root::thread_ids::{self, NEWEST};

use crate::failure::HttpFailure;

/// The named thread.
pub(crate) fn thread(home: &Home, typed: &str) -> Result<ThreadId, HttpFailure> {
    Ok(thread_ids::resolve(home, None, typed)?)
}

/// The named node: a hash, or a unique prefix of one.
pub(crate) fn node(home: &Home, typed: &str) -> Result<NodeHash, HttpFailure> {
    let hash = home.store().resolve_prefix(typed)?;
    if home.store().has(hash)? {
        return Ok(hash);
    }
    Err(HttpFailure::not_found(format!("node {hash} does not exist")))
}

/// A thread, or a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ThreadOrNodeId {
    Thread(ThreadId),
    Node(NodeHash),
}

/// The named thread or node. Whole ids and whole hashes are taken literally; shorter ones are looked up as both.
pub(crate) fn thread_or_node(home: &Home, typed: &str) -> Result<ThreadOrNodeId, HttpFailure> {
    if typed.len() == ID_LEN || typed.starts_with(NEWEST) {
        return Ok(ThreadOrNodeId::Thread(thread(home, typed)?));
    }
    if typed.parse::<NodeHash>().is_ok()
        && let Ok(hash) = node(home, typed)
    {
        return Ok(ThreadOrNodeId::Node(hash));
    }
    match (thread(home, typed), node(home, typed)) {
        (Ok(thread), Ok(node)) => {
            Err(HttpFailure::bad_request(format!("`{typed}` is both thread {thread} and node {node}"))
                .hint("give the whole id or the whole hash"))
        }
        (Ok(thread), Err(_)) => Ok(ThreadOrNodeId::Thread(thread)),
        (Err(_), Ok(node)) => Ok(ThreadOrNodeId::Node(node)),
        (Err(_), Err(_)) => Err(HttpFailure::not_found(format!("`{typed}` is neither a thread nor a node"))),
    }
}
