//! Checks a value before it becomes a role's output.

use json_cas::{CompiledSchema, NodeHash, SchemaViolation, Store, pointer};
use serde_json::Value;
use uwf_core::{extract, number};
use uwf_engine::thread::closure::{self, ClosureBounds};

/// Returns all reasons why a value can't be stored as an output: violations of the schema, and references to nodes that are missing or
/// damaged. A store that can't be read at the moment says nothing about the value, so its errors are left to the write that follows.
pub(crate) fn violations(schema: &CompiledSchema, store: &Store, value: &Value) -> Vec<SchemaViolation> {
    let found = schema.violations(value);
    if found.is_empty() { unstorable_parts(schema, Some(store), value) } else { found }
}

/// Returns all reasons why a value of the schema can't be stored. Without a store, references are not checked.
pub(crate) fn unstorable_parts(schema: &CompiledSchema, store: Option<&Store>, value: &Value) -> Vec<SchemaViolation> {
    let mut found = store.map(|store| broken_references(schema, store, value)).unwrap_or_default();
    found.extend(number::unstorable_numbers(value));
    found
}

/// Returns the contradiction between the keys of a value: `approved: true` beside `comment: I do not approve`.
pub(crate) fn self_contradiction(schema: &CompiledSchema, value: &Value) -> Option<SchemaViolation> {
    let message = extract::self_contradiction_of(value, schema)?;
    Some(SchemaViolation { path: String::new(), keyword: "contradiction".to_owned(), message })
}

/// Returns a violation for each reference to a node that is not stored with everything below it.
pub(crate) fn broken_references(schema: &CompiledSchema, store: &Store, value: &Value) -> Vec<SchemaViolation> {
    let broken = |hash: NodeHash| {
        let unsound = closure::check(store, &ClosureBounds::below(hash), |_| ()).err()?;
        let message = match store.try_get(hash) {
            Ok(None) => {
                format!("no node {hash} is stored: store its content first (`uwf cas put-text`), or leave it out")
            }
            _ => unsound.why().ok()?,
        };
        let path = place_of(hash, value, "").unwrap_or_default();
        Some(SchemaViolation { path, keyword: "format".to_owned(), message })
    };
    schema.refs(value).into_iter().filter_map(broken).collect()
}

/// JSON pointer to the first string that is this hash; `place` is the pointer to the value.
fn place_of(hash: NodeHash, value: &Value, place: &str) -> Option<String> {
    let below = |key: &str, child: &Value| place_of(hash, child, &pointer::join(place, key));
    match value {
        Value::String(text) => (text.parse().ok() == Some(hash)).then(|| place.to_owned()),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| below(&index.to_string(), item)),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| below(key, field)),
        _ => None,
    }
}
