//! The schema of an output as a table: keys, types, what is required.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::text::one_line;

use crate::pages::parts;

/// Levels of nested keys in the table; the schema itself is below it.
const MAX_DEPTH: usize = 4;

/// A key.
#[derive(Debug, PartialEq, Eq)]
struct SchemaKeyRow {
    /// Its name, after the names of the keys around it.
    path: String,
    kind: String,
    is_required: bool,
    description: String,
}

/// The table, and the folded schema.
pub(super) fn table(role: &str, schema: Option<&Value>) -> Markup {
    let Some(schema) = schema else {
        return html! { p.problem { "The schema of its output is not readable; " code { "uwf cas verify" } " lists the damage." } };
    };
    let mut keys = Vec::new();
    add_keys(schema, "", 0, &mut keys);
    html! {
        @if keys.is_empty() {
            p.quiet { "The schema has no keys: " (kind(schema)) "." }
        } @else {
            table.keys {
                caption.hidden { "Keys of the output of " (role) }
                thead { tr { th scope="col" { "Key" } th scope="col" { "Type" } th scope="col" { "Required" } th scope="col" { "Meaning" } } }
                tbody {
                    @for key in &keys {
                        tr {
                            th scope="row" { code { (key.path) } }
                            td data-label="Type" { (key.kind) }
                            td data-label="Required" { @if key.is_required { "yes" } @else { span.quiet { "no" } } }
                            td data-label="Meaning" { (parts::ticks(&key.description)) }
                        }
                    }
                }
            }
        }
        details id={ "schema-" (role) } {
            summary { "JSON Schema" }
            pre { code { (format!("{schema:#}")) } }
        }
    }
}

fn add_keys(schema: &Value, above: &str, depth: usize, keys: &mut Vec<SchemaKeyRow>) {
    let required: Vec<&str> = array(schema, "required").filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten().filter(|_| depth < MAX_DEPTH) {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        let description = property.get("description").and_then(Value::as_str).map(one_line).unwrap_or_default();
        let is_required = required.contains(&name.as_str());
        keys.push(SchemaKeyRow { path: path.clone(), kind: kind(property), is_required, description });
        add_keys(property, &path, depth + 1, keys);
        if let Some(items) = property.get("items") {
            add_keys(items, &format!("{path}[]"), depth + 1, keys);
        }
    }
}

/// A type in words.
fn kind(schema: &Value) -> String {
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    let values: Vec<String> = array(schema, "enum").map(Value::to_string).collect();
    if !values.is_empty() {
        return values.join(" | ");
    }
    for alternatives in ["anyOf", "oneOf"] {
        let kinds: Vec<String> = array(schema, alternatives).map(kind).collect();
        if !kinds.is_empty() {
            return kinds.join(" or ");
        }
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return target.rsplit('/').next().unwrap_or(target).to_owned();
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return "anything".to_owned(),
    };
    let types = types.into_iter().map(|name| match (name, schema.get("items")) {
        ("array", Some(items)) => format!("list of {}", kind(items)),
        ("array", None) => "list".to_owned(),
        (other, _) => other.to_owned(),
    });
    let range = |key: &str, sign: &str| schema.get(key).map(|limit| format!(" {sign} {limit}")).unwrap_or_default();
    types.collect::<Vec<_>>().join(" or ") + &range("minimum", "≥") + &range("maximum", "≤")
}

fn array<'v>(schema: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_and_list_keys_get_own_rows() {
        let schema = json!({
            "type": "object",
            "required": ["status"],
            "properties": {
                "status": { "enum": ["approved", "changes"], "description": "How it\nwent." },
                "count": { "type": ["integer", "null"], "minimum": 0 },
                "issues": {
                    "type": "array",
                    "items": { "type": "object", "required": ["file"], "properties": { "file": { "type": "string" } } },
                },
            },
        });
        let mut keys = Vec::new();
        add_keys(&schema, "", 0, &mut keys);
        let key = |path: &str, kind: &str, is_required, description: &str| SchemaKeyRow {
            path: path.to_owned(),
            kind: kind.to_owned(),
            is_required,
            description: description.to_owned(),
        };
        assert_eq!(
            keys,
            [
                key("status", "\"approved\" | \"changes\"", true, "How it went."),
                key("count", "integer or null ≥ 0", false, ""),
                key("issues", "list of object", false, ""),
                key("issues[].file", "string", true, ""),
            ]
        );
    }

    #[test]
    fn other_schemas_say_what_they_allow() {
        let kinds = [
            json!(true),
            json!({ "const": 1 }),
            json!({ "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/file" }] }),
            json!({ "type": "array" }),
        ];
        assert_eq!(kinds.map(|schema| kind(&schema)), ["anything", "1", "string or file", "list"]);
    }
}
