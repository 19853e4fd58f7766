//! Stored nodes, and drafts of nodes that are not yet stored.

use serde_json::Value;

use crate::cbor::{self, CborError};
use crate::hash::{NodeHash, hash_bytes, xxh64};

/// A stored node. Its hash covers type and payload, but not the timestamp.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Hash of the JSON Schema node that describes the payload. The type determines a node's kind.
    pub type_hash: NodeHash,
    /// The content.
    pub payload: Value,
    /// When the node was first put, in Unix milliseconds.
    pub timestamp: u64,
}

impl Node {
    /// The bytes stored for a node: the CBOR map `{type, payload, timestamp}`, with keys in deterministic order.
    pub(crate) fn encode(type_hash: NodeHash, payload_cbor: &[u8], timestamp: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(payload_cbor.len() + 48);
        bytes.push(0xa3);
        cbor::write_text(&mut bytes, "type");
        bytes.push(0x60 | NodeHash::LEN as u8);
        bytes.extend_from_slice(&type_hash.to_ascii());
        cbor::write_text(&mut bytes, "payload");
        bytes.extend_from_slice(payload_cbor);
        cbor::write_text(&mut bytes, "timestamp");
        cbor::write_head(&mut bytes, 0, timestamp);
        bytes
    }

    /// Whether bytes are the node of a hash. For [`crate::FsObjects::pack`].
    pub fn is_stored_as(hash: NodeHash, bytes: &[u8]) -> bool {
        Node::decode(hash, bytes).is_ok()
    }

    /// Whether bytes are the node of a hash. For caches, which check all that they read. Bytes that this program wrote are hashed as they
    /// are, which is much faster than decoding; other bytes are decoded.
    pub fn has_hash(hash: NodeHash, bytes: &[u8]) -> bool {
        Node::parts(bytes).is_some_and(|(type_hash, payload_cbor)| Node::hash_of(type_hash, payload_cbor) == hash)
            || Node::is_stored_as(hash, bytes)
    }

    /// The type and the payload's canonical CBOR, if the bytes have the form that [`Node::encode`] writes today.
    fn parts(bytes: &[u8]) -> Option<(NodeHash, &[u8])> {
        let (type_text, rest) = bytes.strip_prefix(b"\xa3\x64type\x6d")?.split_at_checked(NodeHash::LEN)?;
        let rest = rest.strip_prefix(b"\x67payload")?;
        let (rest, timestamp) = rest.split_at_checked(rest.len().checked_sub(1 + size_of::<u64>())?)?;
        let payload_cbor = rest.strip_suffix(b"\x69timestamp").filter(|_| timestamp[0] == 0x1b)?;
        Some((std::str::from_utf8(type_text).ok()?.parse().ok()?, payload_cbor))
    }

    /// Decodes bytes as the node with this hash; `None` if they are not that node.
    pub fn stored_as(hash: NodeHash, bytes: &[u8]) -> Option<Node> {
        Node::decode(hash, bytes).ok().map(|(node, _)| node)
    }

    /// The previous node in the chain of this one: `prev` of its payload. For backends that follow chains themselves. `None` if the bytes
    /// are not a node, or the first node of a chain.
    pub fn predecessor(bytes: &[u8]) -> Option<NodeHash> {
        Node::read(bytes).ok()?.payload.get("prev")?.as_str()?.parse().ok()
    }

    /// Decodes the node with this hash and returns it with its payload's canonical CBOR. The error says why the bytes are not that node.
    pub(crate) fn decode(hash: NodeHash, bytes: &[u8]) -> Result<(Node, Vec<u8>), NodeBytesError> {
        let node = Node::read(bytes).map_err(NodeBytesError::Unreadable)?;
        let payload_cbor =
            cbor::encode(&node.payload).map_err(|error| NodeBytesError::Unreadable(error.to_string()))?;
        let actual = Node::hash_of(node.type_hash, &payload_cbor);
        if actual == hash { Ok((node, payload_cbor)) } else { Err(NodeBytesError::OtherHash(actual)) }
    }

    /// The hash of a node. A node whose type is the hash of its own payload is self-typed; for all others, the type is hashed first.
    fn hash_of(type_hash: NodeHash, payload_cbor: &[u8]) -> NodeHash {
        let alone = xxh64(payload_cbor);
        if alone == type_hash { alone } else { hash_bytes(&type_hash.to_ascii(), payload_cbor) }
    }

    fn read(bytes: &[u8]) -> Result<Node, String> {
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        let value = cbor::decode(bytes).map_err(|error| error.to_string())?;
        let Value::Object(mut map) = value else {
            return Err("not a map of type, payload and timestamp".to_owned());
        };
        let mut field = |name: &str| map.remove(name).ok_or_else(|| format!("no `{name}`"));
        let type_text = field("type")?;
        let payload = field("payload")?;
        let timestamp = field("timestamp")?;
        if let Some(key) = map.keys().next() {
            return Err(format!("an unknown field `{key}`"));
        }
        let type_hash = type_text
            .as_str()
            .ok_or_else(|| "the type is not text".to_owned())?
            .parse()
            .map_err(|error| format!("bad type: {error}"))?;
        let timestamp =
            timestamp.as_u64().ok_or_else(|| "the timestamp is not a whole number of milliseconds".to_owned())?;
        Ok(Node { type_hash, payload, timestamp })
    }
}

/// Why bytes are not the expected node.
#[derive(Debug)]
pub(crate) enum NodeBytesError {
    /// The bytes are not a node.
    Unreadable(String),
    /// The bytes are a node with this other hash.
    OtherHash(NodeHash),
}

impl std::fmt::Display for NodeBytesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NodeBytesError::Unreadable(reason) => f.write_str(reason),
            NodeBytesError::OtherHash(actual) => write!(f, "the content has hash {actual}"),
        }
    }
}

/// A node that is ready to be put: payload, its canonical CBOR and its hash.
#[derive(Debug, Clone)]
pub struct NodeDraft {
    hash: NodeHash,
    type_hash: NodeHash,
    payload: Value,
    cbor: Vec<u8>,
    trusted: bool,
}

impl NodeDraft {
    /// A node of the given type.
    ///
    /// # Errors
    /// [`CborError`] if the payload is nested too deeply.
    pub fn new(type_hash: NodeHash, payload: Value) -> Result<NodeDraft, CborError> {
        let cbor = cbor::encode(&payload)?;
        Ok(NodeDraft { hash: hash_bytes(&type_hash.to_ascii(), &cbor), type_hash, payload, cbor, trusted: false })
    }

    /// A node that is its own type, like a meta-schema: its hash covers only the payload.
    ///
    /// # Errors
    /// [`CborError`] if the payload is nested too deeply.
    pub fn self_typed(payload: Value) -> Result<NodeDraft, CborError> {
        let cbor = cbor::encode(&payload)?;
        let hash = xxh64(&cbor);
        Ok(NodeDraft { hash, type_hash: hash, payload, cbor, trusted: false })
    }

    /// The hash of the node.
    pub fn hash(&self) -> NodeHash {
        self.hash
    }

    /// Hash of the node's type.
    pub fn type_hash(&self) -> NodeHash {
        self.type_hash
    }

    /// The content.
    pub fn payload(&self) -> &Value {
        &self.payload
    }

    /// The payload as deterministic CBOR.
    pub fn cbor(&self) -> &[u8] {
        &self.cbor
    }

    /// Marks the payload as valid by construction, because it was serialized from a Rust type that mirrors the schema. Puts then skip the
    /// schema. Debug builds still check it.
    #[must_use]
    pub fn trusted(self) -> NodeDraft {
        NodeDraft { trusted: true, ..self }
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hash_check_without_decoding_agrees_with_decoding() {
        let own = NodeDraft::self_typed(json!({"type": "object"})).unwrap();
        let drafts = [NodeDraft::new(own.hash(), json!({"text": "a text", "n": [1, 2.5, null]})).unwrap(), own];
        for (draft, timestamp) in drafts.iter().flat_map(|draft| [0, 200, 70_000, 1 << 40].map(|time| (draft, time))) {
            let bytes = Node::encode(draft.type_hash(), draft.cbor(), timestamp);
            assert!(Node::has_hash(draft.hash(), &bytes), "{timestamp}");
            assert_eq!(
                Node::parts(&bytes).is_some(),
                timestamp > u64::from(u32::MAX),
                "times of today are read quickly"
            );
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                let is_node = Node::is_stored_as(draft.hash(), &changed);
                assert_eq!(Node::has_hash(draft.hash(), &changed), is_node, "byte {at}");
                let cut = &bytes[..at];
                assert!(!Node::has_hash(draft.hash(), cut), "cut at {at}");
            }
        }
    }
}
