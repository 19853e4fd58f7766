//! The order of keys in a stored schema.
//!
//! A stored map is sorted by its encoded keys, so the author's order of `properties` is lost. `required` is an array, which keeps its
//! order: its keys come first, in that order, followed by the others unchanged.

use serde_json::{Map, Value};

/// Sorts `properties` by the order of `required`, in the schema and all schemas within it. Nothing else changes, not even its hash.
pub(super) fn required_first(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(required_first);
            sort_properties(map);
        }
        Value::Array(items) => items.iter_mut().for_each(required_first),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn sort_properties(schema: &mut Map<String, Value>) {
    let Some(required) = schema.get("required").and_then(Value::as_array) else { return };
    let required: Vec<String> = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let mut before = std::mem::take(properties);
    let named: Vec<(String, Value)> = required.iter().filter_map(|key| before.shift_remove_entry(key)).collect();
    properties.extend(named.into_iter().chain(before));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::required_first;

    fn ordered(mut schema: Value) -> String {
        required_first(&mut schema);
        schema.to_string()
    }

    #[test]
    fn required_keys_come_first_in_required_order() {
        let schema = json!({
            "properties": {"a": {}, "z": {}, "b": {}, "plan": {"properties": {"x": {}, "y": {}}, "required": ["y"]}},
            "required": ["plan", "missing", "b"],
        });
        assert_eq!(
            ordered(schema),
            r#"{"properties":{"plan":{"properties":{"y":{},"x":{}},"required":["y"]},"b":{},"a":{},"z":{}},"required":["plan","missing","b"]}"#
        );
    }

    #[test]
    fn values_other_than_schemas_stay_unchanged() {
        for text in [r#"{"properties":[1],"required":["a"]}"#, r#"{"properties":{"b":1,"a":2},"required":"a"}"#, "true"]
        {
            assert_eq!(ordered(serde_json::from_str(text).unwrap()), text);
        }
    }
}
