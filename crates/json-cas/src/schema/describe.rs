//! Describes schemas and values in a few words.

use serde_json::Value;

use super::CAS_REF;
use super::document::{SchemaDocument, ScopedSubschema};
use crate::text::ellipsize;

/// Longest excerpt of a text or value in a message, in characters.
const MAX_EXCERPT: usize = 60;

/// How deep a description follows items, branches and references.
const MAX_NESTING: usize = 3;

/// Most entries listed in a message.
const MAX_LISTED: usize = 12;

/// A text, cut to a length that fits into a message.
pub(super) fn brief(text: &str) -> String {
    ellipsize(text, MAX_EXCERPT).into_owned()
}

/// The kind of a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value with its kind, shortened.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => json(value),
        Value::String(_) => format!("the string {}", json(value)),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

/// A value as JSON, shortened.
pub(super) fn json(value: &Value) -> String {
    brief(&value.to_string())
}

/// A type name with its article.
pub(super) fn a_type(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Texts as a list; the number of omitted texts is shown.
pub(super) fn listed(texts: &[String], last: &str) -> String {
    if texts.len() > MAX_LISTED {
        let shown = texts[..MAX_LISTED].join(", ");
        return format!("{shown} or {} others", texts.len() - MAX_LISTED);
    }
    match texts {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [init @ .., end] => format!("{} {last} {end}", init.join(", ")),
    }
}

/// Values as a list. Only the shown values are rendered, because there may be a hundred thousand.
pub(super) fn listed_values(values: &[Value], last: &str) -> String {
    let shown: Vec<String> = values.iter().take(MAX_LISTED).map(json).collect();
    match values.len() - shown.len() {
        0 => listed(&shown, last),
        others => format!("{} or {others} others", shown.join(", ")),
    }
}

/// The values that a schema accepts: `string`, `array of strings`, `"a" or "b"`, `object with keys x, y`.
pub(super) fn describe<'s>(document: &SchemaDocument<'s>, subschema: ScopedSubschema<'s>) -> String {
    description(document, subschema, 0)
}

fn description<'s>(document: &SchemaDocument<'s>, subschema: ScopedSubschema<'s>, nesting: usize) -> String {
    let Some(map) = subschema.schema.as_object() else {
        let anything = subschema.schema.as_bool() == Some(true);
        return if anything { "any value" } else { "nothing" }.to_owned();
    };
    if let Some(value) = map.get("const") {
        return json(value);
    }
    if let Some(Value::Array(options)) = map.get("enum") {
        return listed_values(options, "or");
    }
    if nesting < MAX_NESTING {
        if let [target, ..] = document.targets(subschema)[..] {
            return description(document, target, nesting + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                let texts: Vec<String> =
                    branches.iter().map(|branch| description(document, subschema.enter(branch), nesting + 1)).collect();
                return listed(&texts, "or");
            }
        }
    }
    match map.get("type") {
        Some(Value::String(name)) => typed(document, subschema, name, nesting),
        Some(Value::Array(names)) => {
            let texts: Vec<String> =
                names.iter().filter_map(Value::as_str).map(|name| typed(document, subschema, name, nesting)).collect();
            listed(&texts, "or")
        }
        Some(_) | None if map.contains_key("properties") => typed(document, subschema, "object", nesting),
        Some(_) | None => "any value".to_owned(),
    }
}

fn typed<'s>(document: &SchemaDocument<'s>, subschema: ScopedSubschema<'s>, name: &str, nesting: usize) -> String {
    match name {
        "string" => match subschema.keyword("format").and_then(Value::as_str) {
            Some(CAS_REF) => "hash of a node".to_owned(),
            Some(format) => format!("string, {format}"),
            None => name.to_owned(),
        },
        "array" => match subschema.keyword("items") {
            Some(items) if nesting < MAX_NESTING => {
                let items = description(document, subschema.enter(items), nesting + 1);
                match items.as_str() {
                    "string" | "number" | "integer" | "boolean" | "object" => {
                        format!("array of {items}s")
                    }
                    "any value" => name.to_owned(),
                    _ => format!("array of ({items})"),
                }
            }
            Some(_) | None => name.to_owned(),
        },
        "object" => match subschema.keyword("properties").and_then(Value::as_object) {
            Some(map) if !map.is_empty() => {
                let keys: Vec<String> = map.keys().map(|key| format!("`{key}`")).collect();
                format!("object with {}", listed(&keys, "and"))
            }
            Some(_) | None => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}
