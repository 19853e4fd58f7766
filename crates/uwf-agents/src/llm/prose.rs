//! Whether an output has a place for prose.

use serde_json::Value;

/// Levels of a schema to search. A string deeper down cannot take a summary of the work.
const MAX_DEPTH: usize = 8;

/// Keywords that make a string something other than free text.
const BINDING: [&str; 4] = ["enum", "const", "pattern", "format"];

/// Keywords with one schema below them.
const ONE: [&str; 2] = ["items", "additionalProperties"];

/// Keywords with several schemas below them, by name or in a list.
const SEVERAL: [&str; 6] = ["properties", "anyOf", "oneOf", "allOf", "$defs", "definitions"];

/// True if some string of the output can be any text: a summary, a reason, a list of comments.
pub(super) fn has_place(schema: &Value) -> bool {
    is_place(schema, 0)
}

fn is_place(schema: &Value, depth: usize) -> bool {
    let Some(fields) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return false };
    let may_be_text = match fields.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    };
    if may_be_text && !BINDING.iter().any(|keyword| fields.contains_key(*keyword)) {
        return true;
    }
    let one = ONE.iter().filter_map(|keyword| fields.get(*keyword));
    let several = SEVERAL.iter().filter_map(|keyword| fields.get(*keyword)).flat_map(|schemas| match schemas {
        Value::Object(named) => named.values().collect::<Vec<_>>(),
        Value::Array(listed) => listed.iter().collect(),
        _ => Vec::new(),
    });
    one.chain(several).any(|schema| is_place(schema, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn free_strings_are_places_and_enums_are_not() {
        let object = |properties: Value| json!({ "type": "object", "properties": properties });
        assert!(has_place(&object(json!({ "summary": { "type": "string" } }))));
        assert!(has_place(&object(json!({ "notes": { "type": "array", "items": { "type": ["string", "null"] } } }))));
        assert!(has_place(&object(json!({ "n": { "anyOf": [{ "type": "null" }, { "type": "string" }] } }))));
        assert!(!has_place(&object(json!({ "ok": { "type": "boolean" }, "n": { "type": "number" } }))));
        assert!(!has_place(&object(json!({ "status": { "type": "string", "enum": ["a", "b"] } }))));
        assert!(!has_place(&object(json!({ "commit": { "type": "string", "pattern": "^[0-9a-f]{40}$" } }))));
        assert!(!has_place(&json!(true)));
    }
}
