//! Arguments that name a thread or a node.

use json_cas::{HashPrefix, NodeHash};
use uwf_core::thread::{ID_LEN, ThreadId};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::thread_ids;

use super::which::NEWEST;
use crate::context::CommandContext;
use crate::error::CommandError;

/// A thread or a node.
pub(crate) enum ThreadOrNode {
    Thread(ThreadId),
    Node(NodeHash),
}

/// Resolves an argument. A whole id is a thread and a whole hash is a node; shorter words are looked up as both.
pub(crate) fn find(context: &CommandContext, typed: &str) -> Result<ThreadOrNode, CommandError> {
    if typed.len() == ID_LEN || typed.starts_with(NEWEST) {
        return Ok(ThreadOrNode::Thread(context.thread(typed)?));
    }
    if let Ok(hash) = typed.parse::<NodeHash>()
        && context.home.store().has(hash)?
    {
        return Ok(ThreadOrNode::Node(hash));
    }
    match (context.thread(typed), node(context, typed)) {
        (Ok(thread), Ok(node)) => {
            Err(CommandError::usage(format!("`{typed}` is both thread {thread} and node {node}"))
                .hint("give the whole id or the whole hash"))
        }
        (Ok(thread), Err(_)) => Ok(ThreadOrNode::Thread(thread)),
        (Err(_), Ok(node)) => Ok(ThreadOrNode::Node(node)),
        (Err(no_thread), Err(no_node)) => Err(neither(typed, no_thread, no_node)),
    }
}

/// A stored node.
fn node(context: &CommandContext, typed: &str) -> Result<NodeHash, CommandError> {
    let hash = context.node(typed)?;
    if context.home.store().has(hash)? {
        return Ok(hash);
    }
    Err(CommandError::new(ErrorKind::NotFound, format!("node {hash} does not exist")))
}

/// The more useful of two errors: an ambiguous word says more than an unknown one.
fn neither(typed: &str, no_thread: CommandError, no_node: CommandError) -> CommandError {
    let could_be_a_hash = typed.len() == NodeHash::LEN || typed.parse::<HashPrefix>().is_ok();
    match (no_thread.kind, no_node.kind) {
        (ErrorKind::NotFound, ErrorKind::NotFound) => {
            CommandError { error: format!("`{typed}` is neither a thread nor a node"), ..no_thread }
        }
        (ErrorKind::Usage, _) if typed.len() < thread_ids::MIN_SYMBOLS => {
            CommandError::usage(format!("`{typed}` is too short"))
                .hint(format!("give at least {} symbols of a thread's id or of a step's hash", thread_ids::MIN_SYMBOLS))
        }
        (ErrorKind::NotFound, _) if could_be_a_hash => no_node,
        _ => no_thread,
    }
}
