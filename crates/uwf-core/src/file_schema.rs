//! JSON Schemas of the files that people write, and of events, for editors and other programs.
//!
//! They are draft-07, which editors support best. A schema describes the shape of a file. Only the readers find other errors (missing
//! roles, conditions that don't parse). Where a reader warns about an unknown key, the schema rejects it: in an editor it is most likely a
//! mistake.
//!
//! Descriptions are not included: they are in the reference pages, and the code that prints a schema adds them.

mod config;
mod events;
mod workflow;

pub use config::config;
pub use events::events;
pub use workflow::workflow;

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::document::by_schema;

/// The dialect.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// A text that is not only white space.
const NOT_BLANK: &str = r"\S";

/// The schema of a whole file.
fn file(title: &str, schema: Value) -> Value {
    let mut whole = json!({ "$schema": DIALECT, "title": title });
    add(&mut whole, schema);
    whole
}

/// The schema of a file that is read as a `T`.
#[must_use]
pub fn schema_of_file<T: JsonSchema>(title: &str) -> Value {
    file(title, for_editors(by_schema::schema_of_type::<T>()))
}

/// A reader's schema for editors, without the keywords that only the reader uses.
fn for_editors(mut schema: Value) -> Value {
    let is_for_reader = |keyword: &str, value: &Value| match keyword {
        "format" | "title" | "x-hint" | by_schema::UNKNOWN | by_schema::NAMES => value.is_string(),
        "default" => value.is_null(),
        _ => false,
    };
    match &mut schema {
        Value::Object(map) => {
            map.retain(|keyword, value| !is_for_reader(keyword, value));
            map.values_mut().for_each(|value| *value = for_editors(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = for_editors(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

fn add(schema: &mut Value, more: Value) {
    if let (Value::Object(schema), Value::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

/// A mapping with these keys and no others. `keys` are the keys that its reader knows.
///
/// # Panics
/// If `keys` and `properties` differ: a key was added in only one place.
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

/// A mapping with user-defined names.
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

/// The schema, or null, which counts as an absent key.
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
