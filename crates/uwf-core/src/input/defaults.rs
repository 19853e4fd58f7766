//! The defaults of a schema.

use json_cas::pointer::join;
use json_cas::{CompiledSchema, SchemaViolation};
use serde_json::{Value, json};

use crate::schema_shape::{SchemaShape, shape};

/// Adds the default of each name that has no value, also in objects and lists within.
pub(super) fn fill(root: &Value, value: &mut Value) {
    fill_at(root, &shape(root, &[root]), value);
}

fn fill_at<'s>(root: &'s Value, here: &SchemaShape<'s>, value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in here.keys() {
                let below = shape(root, &here.property(key).unwrap_or_default());
                if let Some(present) = object.get_mut(key) {
                    fill_at(root, &below, present);
                } else if let Some(default) = below.keyword("default").next() {
                    let mut default = default.clone();
                    fill_at(root, &below, &mut default);
                    object.insert(key.to_owned(), default);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                fill_at(root, &shape(root, &here.item(index)), item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Defaults of the whole input that its own schema refuses, each with the pointer of its keyword.
pub(crate) fn bad_defaults(schema: &Value) -> Vec<(String, SchemaViolation)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let mut bad = Vec::new();
    for (name, property) in properties {
        let Some(default) = property.get("default") else { continue };
        // The same place, without rules about other names.
        let alone = json!({ "properties": { name: property }, "$defs": schema.get("$defs").unwrap_or(&json!({})) });
        let Ok(alone) = CompiledSchema::compile(&alone) else { continue };
        let mut value = json!({ name: default });
        fill(alone.value(), &mut value);
        if let Some(violation) = alone.violations(&value).into_iter().next() {
            bad.push((join(&join(&join("", "properties"), name), "default"), violation));
        }
    }
    bad
}
