//! Decides whether every value of a schema passes a test of a field.
//!
//! Only plain schemas are read: objects with `properties` and `required`, booleans, `enum` and `const`. Anything else is uncertain.

use serde_json::Value;

/// Whether every value of `schema` has a field at `path` with one of these values; without values, with any value.
pub(super) fn is_always(schema: &Value, path: &[String], values: Option<&[Value]>) -> bool {
    let Some(field) = path.iter().try_fold(schema, required) else { return false };
    let Some(values) = values else { return true };
    let allowed = match (field.get("const"), field.get("enum").and_then(Value::as_array), field["type"].as_str()) {
        (Some(only), _, _) => vec![only.clone()],
        (None, Some(listed), _) => listed.clone(),
        (None, None, Some("boolean")) => vec![Value::Bool(true), Value::Bool(false)],
        _ => return false,
    };
    !path.is_empty() && !allowed.is_empty() && allowed.iter().all(|value| values.contains(value))
}

/// The schema of a required property of an object.
fn required<'s>(schema: &'s Value, key: &String) -> Option<&'s Value> {
    let is_listed = |required: &Vec<Value>| required.iter().any(|name| name == key);
    let is_object = schema["type"] == "object";
    schema.get("required").and_then(Value::as_array).filter(|required| is_object && is_listed(required))?;
    schema.get("properties")?.get(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn required_fields_with_all_values_are_certain() {
        let inner = json!({ "type": "object", "properties": { "c": { "const": 1 } }, "required": ["c"] });
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": "boolean" }, "b": { "enum": ["x", "y"] }, "o": inner, "d": { "type": "boolean" } },
            "required": ["a", "b", "o"],
        });
        let is = |path: &[&str], values: Option<Value>| {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            is_always(&schema, &path, values.as_ref().and_then(Value::as_array).map(Vec::as_slice))
        };
        assert!(is(&["a"], None) && is(&["a"], Some(json!([true, false]))) && is(&["b"], Some(json!(["y", "x", "z"]))));
        assert!(is(&["o", "c"], Some(json!([1]))));
        assert!(!is(&["a"], Some(json!([true]))) && !is(&["b"], Some(json!(["x"]))));
        assert!(!is(&["d"], None) && !is(&["d"], Some(json!([true, false]))) && !is(&["o", "e"], None));
    }
}
