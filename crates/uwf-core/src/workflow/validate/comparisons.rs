//! Finds comparisons in conditions that can never be true.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schema_paths::{descend, resolve};
use crate::schema_shape::type_name;

/// Why a comparison is never true.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NeverEqualReason {
    /// The schema allows other values only.
    OtherValues(Vec<String>),
    /// The schema allows other types only.
    OtherTypes(Vec<String>),
}

/// Deepest nesting of references and alternatives that is checked. Deeper schemas count as allowing anything.
const MAX_DEPTH: usize = 16;

/// Why no value of `schema` has `literal` at `path`; `None` if a value may, or if that is hard to determine. A place that can be an array
/// counts as allowing anything, because JSONata maps over arrays.
pub(super) fn never_equal(schema: &Value, path: &[String], literal: &Value) -> Option<NeverEqualReason> {
    let here = descend(schema, path).ok()?;
    let mut allowed = AllowedLiterals { root: schema, values: BTreeSet::new(), types: BTreeSet::new() };
    // Several schemas may be alternatives or parts of one schema. A literal is impossible only if none of them allows it.
    if here.is_empty() || here.iter().any(|one| allowed.allows(one, literal, MAX_DEPTH)) {
        return None;
    }
    let AllowedLiterals { values, types, .. } = allowed;
    match values.is_empty() {
        true => Some(NeverEqualReason::OtherTypes(types.into_iter().collect())),
        false => Some(NeverEqualReason::OtherValues(values.into_iter().collect())),
    }
}

/// Checks whether a literal is allowed, and collects what is allowed instead.
struct AllowedLiterals<'s> {
    root: &'s Value,
    values: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl AllowedLiterals<'_> {
    fn allows(&mut self, schema: &Value, literal: &Value, depth: usize) -> bool {
        let Some(map) = schema.as_object().filter(|_| depth > 0) else { return schema != &Value::Bool(false) };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let Some(target) = resolve(self.root, reference) else { return true };
            if !self.allows(target, literal, depth - 1) {
                return false;
            }
        }
        let branches = |key: &str| map.get(key).and_then(Value::as_array);
        for key in ["anyOf", "oneOf"] {
            let Some(branches) = branches(key) else { continue };
            // Don't stop early: the message lists what each branch allows.
            let allowing = branches.iter().filter(|branch| self.allows(branch, literal, depth - 1)).count();
            if allowing == 0 {
                return false;
            }
        }
        if branches("allOf").into_iter().flatten().any(|branch| !self.allows(branch, literal, depth - 1)) {
            return false;
        }
        let listed = map.get("const").map(std::slice::from_ref).or_else(|| Some(map.get("enum")?.as_array()?));
        match listed {
            Some(values) => self.lists(values, literal),
            None => map.get("type").is_none_or(|types| self.has_type(types, literal)),
        }
    }

    fn lists(&mut self, values: &[Value], literal: &Value) -> bool {
        let found = values.iter().any(|value| value.is_array() || equal(value, literal));
        if !found {
            self.values.extend(values.iter().map(Value::to_string));
        }
        found
    }

    fn has_type(&mut self, types: &Value, literal: &Value) -> bool {
        let names: Vec<&str> = match types {
            Value::String(one) => vec![one],
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let fits = names.iter().any(|name| match (*name, literal) {
            ("array", _) => true,
            ("integer", Value::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
            ("number", Value::Number(_)) => true,
            (name, literal) => name == type_name(literal),
        });
        if !fits {
            self.types.extend(names.into_iter().map(str::to_owned));
        }
        fits
    }
}

/// Equality as in JSONata, which has a single type of number.
fn equal(value: &Value, literal: &Value) -> bool {
    match (value.as_f64(), literal.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => value == literal,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{NeverEqualReason, never_equal};

    fn ask(schema: &Value, literal: Value) -> Option<NeverEqualReason> {
        never_equal(&json!({"type": "object", "properties": {"x": schema}}), &["x".to_owned()], &literal)
    }

    fn values(values: &[&str]) -> Option<NeverEqualReason> {
        Some(NeverEqualReason::OtherValues(values.iter().map(|value| (*value).to_owned()).collect()))
    }

    fn types(types: &[&str]) -> Option<NeverEqualReason> {
        Some(NeverEqualReason::OtherTypes(types.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn unlisted_value_never_matches() {
        let status = json!({"enum": ["done", "failed"]});
        assert_eq!(ask(&status, json!("done")), None);
        assert_eq!(ask(&status, json!("ok")), values(&["\"done\"", "\"failed\""]));
        assert_eq!(ask(&json!({"const": 1}), json!(1.0)), None);
        assert_eq!(ask(&json!({"const": 1}), json!(2)), values(&["1"]));
    }

    #[test]
    fn a_value_of_another_type_is_never_there() {
        assert_eq!(ask(&json!({"type": "boolean"}), json!("true")), types(&["boolean"]));
        assert_eq!(ask(&json!({"type": "boolean"}), json!(false)), None);
        assert_eq!(ask(&json!({"type": "integer"}), json!(1.5)), types(&["integer"]));
        assert_eq!(ask(&json!({"type": ["string", "null"]}), json!(null)), None);
        assert_eq!(ask(&json!({"type": "string"}), json!(null)), types(&["string"]));
    }

    #[test]
    fn alternatives_and_references_are_looked_into() {
        let nullable =
            json!({"anyOf": [{"$ref": "#/properties/x/$defs/s"}, {"type": "null"}], "$defs": {"s": {"enum": ["a"]}}});
        assert_eq!(ask(&nullable, json!("a")), None);
        assert_eq!(ask(&nullable, json!(null)), None);
        assert_eq!(ask(&nullable, json!("b")), values(&["\"a\""]));
        assert_eq!(ask(&json!({"$ref": "#/properties/x"}), json!(1)), None, "it ends");
    }

    #[test]
    fn whatever_may_be_an_array_counts_as_anything() {
        for schema in [
            json!({"type": "array"}),
            json!({}),
            json!(true),
            json!({"enum": [["a"]]}),
            json!({"type": ["array", "null"]}),
        ] {
            assert_eq!(ask(&schema, json!("b")), None, "{schema}");
        }
    }
}
