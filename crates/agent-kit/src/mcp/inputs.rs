//! Converts a role's schema to the schema of a tool's arguments, which must be an object.

use serde_json::{Map, Value, json};

/// Key of the argument with the value, if the role's schema does not describe an object.
pub(super) const VALUE_KEY: &str = "value";

/// Keywords whose values are data, not schemas: a `$ref` inside them is not a reference.
const DATA_KEYWORDS: [&str; 4] = ["const", "enum", "default", "examples"];

/// Whether the arguments themselves are the role's output.
pub(super) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Schema of the arguments of `submit`: the role's schema, wrapped in `{value}` unless it describes an object.
pub(super) fn arguments_schema(schema: &Value) -> Value {
    // The schema's name is meant for validators and only confuses the model providers.
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.retain(|key, _| key != "$schema" && key != "$id");
    }
    if is_object(&schema) {
        return schema;
    }
    rebase(&mut schema);
    json!({
        "type": "object",
        "properties": { VALUE_KEY: schema },
        "required": [VALUE_KEY],
        "additionalProperties": false,
    })
}

/// Adapts references within the schema to its new root at `/properties/value`.
fn rebase(schema: &mut Value) {
    match schema {
        Value::Object(map) => rebase_keys(map),
        Value::Array(items) => items.iter_mut().for_each(rebase),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rebase_keys(map: &mut Map<String, Value>) {
    for (key, value) in map {
        if DATA_KEYWORDS.contains(&key.as_str()) {
            continue;
        }
        match value {
            Value::String(target) if key == "$ref" && (target == "#" || target.starts_with("#/")) => {
                *target = format!("#/properties/{VALUE_KEY}{}", &target[1..]);
            }
            other => rebase(other),
        }
    }
}
