//! `cas get`: a node as it is stored.

use json_cas::{Node, NodeHash};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A node with its hash.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoredNode {
    /// Its hash.
    pub hash: NodeHash,
    /// Hash of its type.
    pub r#type: NodeHash,
    /// Its content.
    pub payload: Value,
    /// When it was first stored, Unix milliseconds.
    pub timestamp: u64,
}

impl StoredNode {
    /// Combines a node with the hash it was read by.
    pub fn from_hash_and_node(hash: NodeHash, node: Node) -> StoredNode {
        StoredNode { hash, r#type: node.type_hash, payload: node.payload, timestamp: node.timestamp }
    }
}
