//! JSON Schemas of the files that people write, and of events: for editors, and for programs that write or read them.
//!
//! They are of draft-07, the one that editors know best. A schema says the shape of a file. What needs more than that (roles
//! that are named but not there, conditions that do not parse) is found by the readers alone. Where a reader warns of an
//! unknown key, the schema refuses it: in an editor it is most likely a slip.
//!
//! Descriptions are not here: the reference pages have them, and whoever prints a schema puts them in.

mod config;
mod events;
mod workflow;

pub use config::config;
pub use events::events;
pub use workflow::workflow;

use serde_json::{Value, json};

use crate::number::{MAX_MONEY, MAX_WHOLE};

/// The dialect.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// A duration, see [`crate::document::parse_duration`].
const DURATION: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ms|s|m|min|h|d)?\s*$";

/// A text that is not just white space.
const NOT_BLANK: &str = r"\S";

/// The schema of a whole file.
fn file(title: &str, schema: Value) -> Value {
    let mut whole = json!({ "$schema": DIALECT, "title": title });
    add(&mut whole, schema);
    whole
}

fn add(schema: &mut Value, more: Value) {
    if let (Value::Object(schema), Value::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

/// A mapping with these keys and no others. `keys` are those its reader knows.
///
/// # Panics
/// When they are not those of `properties`: a key was added in one place only.
fn mapping(keys: &[&str], properties: Value, required: &[&str]) -> Value {
    let mut described: Vec<&str> =
        properties.as_object().into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
    let mut read = keys.to_vec();
    described.sort_unstable();
    read.sort_unstable();
    assert_eq!(described, read, "keys of the schema, and of the reader");
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A mapping of names that people choose.
fn named(schema: Value) -> Value {
    json!({ "type": "object", "additionalProperties": schema })
}

fn list(schema: Value) -> Value {
    json!({ "type": "array", "items": schema })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn not_blank() -> Value {
    json!({ "type": "string", "pattern": NOT_BLANK })
}

fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn switch() -> Value {
    json!({ "type": "boolean" })
}

fn count_to(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

fn duration() -> Value {
    json!({ "type": ["string", "number"], "pattern": DURATION, "minimum": 0 })
}

/// The schema, or null: as good as an absent key.
fn optional(mut schema: Value) -> Value {
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push(json!("null")),
        Some(one) => *one = json!([one.take(), "null"]),
        None => {
            if let Some(branches) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
                branches.push(json!({ "type": "null" }));
            }
        }
    }
    schema
}

/// The four limits of a thread.
fn thread_limits() -> Value {
    json!({
        "maxSteps": optional(count_to(1, MAX_WHOLE)),
        "maxTime": optional(duration()),
        "maxTokens": optional(count_to(1, MAX_WHOLE)),
        "maxCost": optional(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_MONEY })),
    })
}
