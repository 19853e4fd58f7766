//! `cas_get`

use json_cas::Hash;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uwf_core::node::Kind;

use super::{Answer, Scene, Tool, typed};
use crate::excerpt::without_middle;

/// Bytes of a node that are told: some 16,000 tokens.
const MAX_BYTES: usize = 64 << 10;

/// Reads a node of the store.
pub(super) struct CasGet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    hash: String,
}

impl Tool for CasGet {
    fn name(&self) -> &'static str {
        "cas_get"
    }

    fn description(&self) -> &'static str {
        "Reads a node of the store by its hash of 13 symbols: what earlier steps put there."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "hash": { "type": "string", "description": "the node's hash" } },
            "required": ["hash"],
            "additionalProperties": false,
        })
    }

    fn run(&self, scene: &Scene<'_>, arguments: &Map<String, Value>) -> Answer {
        let Arguments { hash } = typed(arguments)?;
        let hash: Hash = hash.parse().map_err(|error| format!("`{hash}` is not a hash: {error}"))?;
        told(scene.store, hash)
    }
}

/// A node in words: a text as it is, anything else as JSON.
pub(crate) fn told(store: &json_cas::Store, hash: Hash) -> Answer {
    let node = store.get(hash).map_err(|error| error.to_string())?;
    let text = match (Kind::of(node.type_hash), node.payload.get("text").and_then(Value::as_str)) {
        (Some(Kind::Content), Some(text)) => text.to_owned(),
        _ => format!("{:#}", node.payload),
    };
    Ok(without_middle(&text, MAX_BYTES).into_owned())
}
