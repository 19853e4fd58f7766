//! The tool `cas_get`, as this crate's models see it: returns a node of the store as text.

use json_cas::{NodeHash, Store};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uwf_core::node::NodeKind;

use uwf_core::text::without_middle;

/// Its name for the model.
pub const NAME: &str = "cas_get";

/// JSON Schema of its arguments.
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": { "hash": { "type": "string", "description": "the node's hash" } },
        "required": ["hash"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasGetArguments {
    hash: String,
}

/// Runs a call: returns the node's text within `cap` bytes.
///
/// # Errors
/// Text for the model: invalid arguments, no such node, or an unreadable node.
pub fn call(store: &Store, arguments: &Map<String, Value>, cap: usize) -> Result<String, String> {
    let CasGetArguments { hash } = CasGetArguments::deserialize(Value::Object(arguments.clone()))
        .map_err(|error| format!("invalid arguments: {error}"))?;
    let hash: NodeHash = hash.parse().map_err(|error: json_cas::HashError| error.to_string())?;
    node_text(store, hash, cap)
}

/// A text node's text, any other node as JSON. Long text is cut to its beginning and end within `cap` bytes.
///
/// # Errors
/// Text for the model: no such node, or an unreadable node.
pub(crate) fn node_text(store: &Store, hash: NodeHash, cap: usize) -> Result<String, String> {
    let node = store.get(hash).map_err(|error| error.to_string())?;
    let text = match (NodeKind::from_type_hash(node.type_hash), node.payload.get("text").and_then(Value::as_str)) {
        (Some(NodeKind::Content), Some(text)) => text.to_owned(),
        _ => format!("{:#}", node.payload),
    };
    Ok(without_middle(&text, cap).into_owned())
}
