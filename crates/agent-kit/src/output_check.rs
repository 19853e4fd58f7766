//! Checks a value before it becomes a role's output.

use json_cas::{CompiledSchema, NodeHash, SchemaViolation, Store, pointer};
use serde_json::Value;
use uwf_core::extract;
use uwf_engine::thread::closure::{self, ClosureBounds};

/// Returns all reasons why a value can't be stored as an output: violations of the schema, and references to nodes that are missing or
/// damaged. A store that can't be read at the moment says nothing about the value, so its errors are left to the write that follows.
pub(crate) fn violations(schema: &CompiledSchema, store: &Store, value: &Value) -> Vec<SchemaViolation> {
    let found = schema.violations(value);
    if !found.is_empty() {
        return found;
    }
    let mut found = broken_references(schema, store, value);
    add_changed_numbers(value, "", &mut found);
    found
}

/// Returns the contradiction between the keys of a value: `approved: true` beside `comment: I do not approve`.
pub(crate) fn self_contradiction(schema: &CompiledSchema, value: &Value) -> Option<SchemaViolation> {
    let message = extract::self_contradiction_of(value, schema)?;
    Some(SchemaViolation { path: String::new(), keyword: "contradiction".to_owned(), message })
}

/// Adds a violation for each whole number that the store can't keep exactly.
fn add_changed_numbers(value: &Value, place: &str, found: &mut Vec<SchemaViolation>) {
    match value {
        Value::Number(number) if !is_kept(number) => found.push(SchemaViolation {
            path: place.to_owned(),
            keyword: "type".to_owned(),
            message: format!("the whole number {number} can't be kept exactly; give a smaller one, or a text"),
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_changed_numbers(item, &pointer::join(place, &index.to_string()), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                add_changed_numbers(field, &pointer::join(place, key), found);
            }
        }
        _ => {}
    }
}

/// Whether a whole number is the same as a double, which the store writes beyond 2^53.
fn is_kept(number: &serde_json::Number) -> bool {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the loss is what is looked for")]
    whole.is_none_or(|whole| whole as f64 as i128 == whole)
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
