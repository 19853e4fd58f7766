//! Sorts the keys of an output in the order of its schema, because a stored map is sorted by its keys.

use serde_json::{Map, Value};

use crate::schema_shape::{SchemaShape, shape};

/// Deepest nesting that is sorted. Deeper values are shown as JSON.
const MAX_DEPTH: usize = 6;

/// Sorts the keys of an output in the order of `schema`. Keys that the schema does not list come last, in their own order.
#[must_use]
pub fn in_schema_order(output: Value, schema: &Value) -> Value {
    place(output, schema, &shape(schema, &[schema]), MAX_DEPTH)
}

fn place<'s>(value: Value, root: &'s Value, here: &SchemaShape<'s>, depth: usize) -> Value {
    match value {
        Value::Object(fields) if depth > 0 => Value::Object(object(fields, root, here, depth)),
        Value::Array(items) if depth > 0 => {
            let item = shape(root, &here.item(0));
            items.into_iter().map(|value| place(value, root, &item, depth - 1)).collect()
        }
        other => other,
    }
}

fn object<'s>(
    mut fields: Map<String, Value>,
    root: &'s Value,
    here: &SchemaShape<'s>,
    depth: usize,
) -> Map<String, Value> {
    let mut ordered = Map::new();
    for key in here.keys_of_all(root) {
        let Some((key, value)) = fields.shift_remove_entry(key) else { continue };
        let below = shape(root, &here.property(&key).unwrap_or_default());
        ordered.insert(key, place(value, root, &below, depth - 1));
    }
    ordered.extend(fields);
    ordered
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::in_schema_order;

    #[test]
    fn keys_follow_schema_order_at_every_level() {
        let schema = json!({
            "properties": {
                "summary": {"type": "string"},
                "phases": {"type": "array", "items": {"$ref": "#/$defs/phase"}},
                "by": {"properties": {"name": {}, "at": {}}},
            },
            "$defs": {"phase": {"properties": {"title": {}, "done": {}}}},
        });
        let output =
            json!({"by": {"at": 1, "name": "a"}, "extra": 0, "phases": [{"done": true, "title": "x"}], "summary": "s"});
        assert_eq!(
            in_schema_order(output, &schema).to_string(),
            r#"{"summary":"s","phases":[{"title":"x","done":true}],"by":{"name":"a","at":1},"extra":0}"#
        );
    }

    #[test]
    fn values_other_than_objects_stay_unchanged() {
        for value in [json!("text"), json!([2, 1]), json!(null)] {
            assert_eq!(in_schema_order(value.clone(), &json!({"properties": {"a": {}}})), value);
        }
    }
}
