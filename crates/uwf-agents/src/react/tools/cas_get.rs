//! `cas_get`

use json_cas::Hash;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, Scene, Tool, typed};
use crate::node_text::node_text;

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
        node_text(scene.store, hash, MAX_BYTES)
    }
}
