//! A node of the store as a text for a model.

use json_cas::{Hash, Store};
use serde_json::Value;
use uwf_core::node::Kind;

use crate::excerpt::without_middle;

/// A text node's text, any other node as JSON; of much, beginning and end within `cap` bytes.
///
/// # Errors
/// In words: there is no such node, or it is not readable.
pub fn node_text(store: &Store, hash: Hash, cap: usize) -> Result<String, String> {
    let node = store.get(hash).map_err(|error| error.to_string())?;
    let text = match (Kind::of(node.type_hash), node.payload.get("text").and_then(Value::as_str)) {
        (Some(Kind::Content), Some(text)) => text.to_owned(),
        _ => format!("{:#}", node.payload),
    };
    Ok(without_middle(&text, cap).into_owned())
}
