//! Names of values: those that a schema lacks, and those that lack a value.

use json_cas::nearest::nearest;
use json_cas::pointer::join;
use serde_json::Value;

use super::dotted;
use super::listing::fields;
use super::problem::InputProblem;
use crate::schema_shape::{SchemaShape, UnlistedKeyRule, shape};

/// A name that the schema does not list.
pub(super) struct UnknownName {
    pub(super) pointer: String,
    pub(super) hint: String,
}

/// Names that the schema does not list and does not allow in general.
pub(super) fn unknown(root: &Value, value: &Value) -> Vec<UnknownName> {
    let mut found = Vec::new();
    collect(root, &shape(root, &[root]), value, "", &mut found);
    found
}

fn collect<'s>(root: &'s Value, here: &SchemaShape<'s>, value: &Value, pointer: &str, found: &mut Vec<UnknownName>) {
    match value {
        Value::Object(object) => {
            let known = here.keys_of_all(root);
            // An input without names takes no values.
            let allows_others =
                matches!(here.unlisted(), UnlistedKeyRule::Allowed(_)) && !(pointer.is_empty() && is_bare(here));
            for (key, below) in object {
                let at = join(pointer, key);
                if known.contains(&key.as_str()) {
                    collect(root, &shape(root, &here.property(key).unwrap_or_default()), below, &at, found);
                } else if !allows_others {
                    let near = nearest(key, known.iter().copied());
                    let near = near.map(|near| format!("did you mean `{}`?", dotted(&join(pointer, near))));
                    let hint = near.unwrap_or_else(|| match known.is_empty() {
                        true => "no names are known here".to_owned(),
                        false => format!("known here: {}", known.join(", ")),
                    });
                    found.push(UnknownName { pointer: at, hint });
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let at = join(pointer, &index.to_string());
                collect(root, &shape(root, &here.item(index)), item, &at, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a schema says nothing about names.
fn is_bare(shape: &SchemaShape<'_>) -> bool {
    ["additionalProperties", "unevaluatedProperties", "patternProperties"]
        .into_iter()
        .all(|keyword| shape.keyword(keyword).next().is_none())
}

/// Removes the value at a pointer.
pub(super) fn remove(value: &mut Value, pointer: &str) {
    let Some((around, key)) = pointer.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(object)) = value.pointer_mut(around) {
        object.shift_remove(&key);
    }
}

/// The problem of a required name without a value.
pub(super) fn missing(root: &Value, name: &str) -> InputProblem {
    let field = fields(root).into_iter().find(|field| field.name == name);
    let described = field.map(|field| field.in_words()).unwrap_or_default();
    let message = match described.is_empty() {
        true => format!("`{name}` has no value"),
        false => format!("`{name}` has no value ({described})"),
    };
    InputProblem { place: String::new(), message, hint: None, missing: Some(name.to_owned()) }
}
