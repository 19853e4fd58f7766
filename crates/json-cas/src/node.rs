//! Nodes: what is stored, and drafts of nodes before they are.

use std::borrow::Cow;

use serde_json::Value;

use crate::cbor::{self, CborError, First};
use crate::hash::{Hash, hash_bytes, xxh64};

/// A stored node. Its hash covers type and payload, not the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Hash of the JSON Schema node that describes the payload; a node's kind is decided by this.
    pub type_hash: Hash,
    /// The content.
    pub payload: Value,
    /// When the node was first put, in Unix milliseconds.
    pub timestamp: u64,
}

impl Node {
    /// The bytes kept for a node: the CBOR map `{type, payload, timestamp}`, keys in
    /// deterministic order.
    pub(crate) fn encode(type_hash: Hash, payload_cbor: &[u8], timestamp: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(payload_cbor.len() + 48);
        bytes.push(0xa3);
        cbor::write_text(&mut bytes, "type");
        bytes.push(0x60 | Hash::LEN as u8);
        bytes.extend_from_slice(&type_hash.to_ascii());
        cbor::write_text(&mut bytes, "payload");
        bytes.extend_from_slice(payload_cbor);
        cbor::write_text(&mut bytes, "timestamp");
        cbor::write_head(&mut bytes, 0, timestamp);
        bytes
    }

    /// Whether bytes are what [`Node::encode`] writes of a node, at whatever time.
    pub(crate) fn is_encoded_as(bytes: &[u8], type_hash: Hash, payload_cbor: &[u8]) -> bool {
        let encoded = Node::encode(type_hash, payload_cbor, 0);
        let (_, before_time) = encoded.split_last().expect("a node has a time");
        let time = bytes.strip_prefix(before_time).and_then(|time| Some((time, cbor::decode_first(time, 1).ok()?)));
        time.is_some_and(|(bytes, time)| time.length == bytes.len() && time.value.is_u64())
    }

    /// Reads a node's bytes and checks that they are those of `hash`; the error says why not.
    /// Also gives the payload's canonical CBOR.
    pub(crate) fn decode(hash: Hash, bytes: &[u8]) -> Result<(Node, Cow<'_, [u8]>), Unfit> {
        if let Some((node, payload_cbor)) = Node::read_own(bytes, cbor::decode_first)
            && Node::hash_of(node.type_hash, payload_cbor) == hash
        {
            return Ok((node, Cow::Borrowed(payload_cbor)));
        }
        let node = Node::read(bytes).map_err(Unfit::Unreadable)?;
        let payload_cbor = cbor::encode(&node.payload).map_err(|error| Unfit::Unreadable(error.to_string()))?;
        let actual = Node::hash_of(node.type_hash, &payload_cbor);
        if actual == hash { Ok((node, Cow::Owned(payload_cbor))) } else { Err(Unfit::OtherHash(actual)) }
    }

    /// As [`Node::decode`], checks and all, but a payload that is a map is given with no other fields than these.
    pub(crate) fn decode_fields(hash: Hash, bytes: &[u8], fields: &[&str]) -> Result<Node, Unfit> {
        if let Some((node, payload_cbor)) =
            Node::read_own(bytes, |payload, depth| cbor::decode_first_fields(payload, depth, fields))
            && Node::hash_of(node.type_hash, payload_cbor) == hash
        {
            return Ok(node);
        }
        let (mut node, _) = Node::decode(hash, bytes)?;
        if let Value::Object(payload) = &mut node.payload {
            payload.retain(|name, _| fields.contains(&name.as_str()));
        }
        Ok(node)
    }

    /// The hash of a node: a node that names as its type the hash of its own payload is
    /// self-typed, for every other one the type goes first.
    fn hash_of(type_hash: Hash, payload_cbor: &[u8]) -> Hash {
        let alone = xxh64(payload_cbor);
        if alone == type_hash { alone } else { hash_bytes(&type_hash.to_ascii(), payload_cbor) }
    }

    /// Reads bytes that [`Node::encode`] has written: what stands there for the payload is its canonical CBOR, which need
    /// not be made again. `None` for any other bytes, be they a node or not.
    fn read_own(
        bytes: &[u8],
        read_payload: impl Fn(&[u8], usize) -> Result<First, CborError>,
    ) -> Option<(Node, &[u8])> {
        let (type_text, rest) = bytes.strip_prefix(b"\xa3\x64type\x6d")?.split_at_checked(Hash::LEN)?;
        let type_hash = std::str::from_utf8(type_text).ok()?.parse().ok()?;
        let rest = rest.strip_prefix(b"\x67payload")?;
        let payload = read_payload(rest, 1).ok()?;
        let (payload_cbor, rest) = rest.split_at(payload.length);
        let timestamp = cbor::decode_first(rest.strip_prefix(b"\x69timestamp")?, 1).ok()?;
        let is_all = timestamp.length + b"\x69timestamp".len() == rest.len();
        let timestamp = timestamp.value.as_u64()?;
        let node = Node { type_hash, payload: payload.value, timestamp };
        (is_all && payload.is_canonical).then_some((node, payload_cbor))
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

/// Why bytes are not the node they should be.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// They are no node at all.
    Unreadable(String),
    /// They are a node with this hash.
    OtherHash(Hash),
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unfit::Unreadable(reason) => f.write_str(reason),
            Unfit::OtherHash(actual) => write!(f, "the content has hash {actual}"),
        }
    }
}

/// A node ready to be put: payload, its canonical CBOR and its hash.
#[derive(Debug, Clone)]
pub struct Draft {
    hash: Hash,
    type_hash: Hash,
    payload: Value,
    cbor: Vec<u8>,
    trusted: bool,
}

impl Draft {
    /// A node of the given type.
    ///
    /// # Errors
    /// [`CborError`] when the payload is nested too deeply.
    pub fn new(type_hash: Hash, payload: Value) -> Result<Draft, CborError> {
        let cbor = cbor::encode(&payload)?;
        Ok(Draft { hash: hash_bytes(&type_hash.to_ascii(), &cbor), type_hash, payload, cbor, trusted: false })
    }

    /// A node that is its own type, as a meta-schema is: its hash covers the payload alone.
    ///
    /// # Errors
    /// [`CborError`] when the payload is nested too deeply.
    pub fn self_typed(payload: Value) -> Result<Draft, CborError> {
        let cbor = cbor::encode(&payload)?;
        let hash = xxh64(&cbor);
        Ok(Draft { hash, type_hash: hash, payload, cbor, trusted: false })
    }

    /// The hash the node will have.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Hash of the node's type.
    pub fn type_hash(&self) -> Hash {
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

    /// Marks the payload as valid by construction, being serialized from a Rust type that mirrors
    /// the schema: a put then skips the schema. Debug builds still check it.
    #[must_use]
    pub fn trusted(self) -> Draft {
        Draft { trusted: true, ..self }
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted
    }
}
