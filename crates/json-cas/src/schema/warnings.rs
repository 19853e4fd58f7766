//! Warnings and notes about schemas that can be used but are probably not what the author meant.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::describe::brief;
use super::problem::SchemaProblem;
use crate::pointer;

/// Pairs of limits. The first must not be greater than the second.
const LIMITS: [(&str, &str); 5] = [
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
    ("minimum", "maximum"),
];

/// Keywords that apply other schemas to the same value. Those schemas may list its keys.
const ALSO_APPLIED: [&str; 11] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "dependentSchemas",
    "patternProperties",
];

/// The warnings and notes about one schema, not including nested ones.
pub(super) fn find_warnings(schema: &Map<String, Value>, path: &str) -> Vec<SchemaProblem> {
    let mut problems = limits(schema, path);
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    if let (Some(properties), Some(required)) = (properties, required) {
        let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        if !is_branch(path) && !ALSO_APPLIED.iter().any(|keyword| schema.contains_key(*keyword)) {
            problems.extend(unlisted(schema, properties, &required, path));
        }
        problems.extend(order(properties, &required, path));
    }
    problems
}

fn limits(schema: &Map<String, Value>, path: &str) -> Vec<SchemaProblem> {
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let crossed = LIMITS.into_iter().filter_map(|(least, most)| {
        let (low, high) = (number(least)?, number(most)?);
        let message = format!("nothing fits: `{least}` is {low}, more than `{most}`, which is {high}");
        (low > high).then(|| SchemaProblem::warning(pointer::join(path, least), message))
    });
    crossed.collect()
}

/// Whether several schemas, including this one, apply to the same value. Then another one may list the keys.
fn is_branch(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (last, before) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    matches!(last, "if" | "then" | "else" | "not")
        || matches!(before, "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "$defs" | "definitions")
}

/// Required keys that are not among the properties: usually a typo.
fn unlisted(
    schema: &Map<String, Value>,
    properties: &Map<String, Value>,
    required: &[&str],
    path: &str,
) -> Vec<SchemaProblem> {
    let describes_others = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(*keyword).is_some_and(|value| !value.is_boolean()));
    if describes_others {
        return Vec::new();
    }
    let missing = required.iter().enumerate().filter(|(_, key)| !properties.contains_key(**key));
    missing
        .map(|(index, key)| {
            let near = crate::nearest::nearest(key, properties.keys().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("`{}` is required, but `properties` does not list it{hint}", brief(key));
            SchemaProblem::warning(format!("{}/{index}", pointer::join(path, "required")), message)
        })
        .collect()
}

/// The same keys in a different order: `required` wins, because the store keeps only the order of lists.
fn order(properties: &Map<String, Value>, required: &[&str], path: &str) -> Option<SchemaProblem> {
    let position: BTreeMap<&str, usize> = properties.keys().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let listed: Vec<(usize, &str)> = required.iter().filter_map(|key| Some((*position.get(key)?, *key))).collect();
    let (before, after) = listed.windows(2).find(|pair| pair[0].0 > pair[1].0).map(|pair| (pair[0].1, pair[1].1))?;
    let message = format!(
        "`required` has `{}` before `{}`, `properties` has them the other way round; agents are asked in the order of \
         `required`",
        brief(before),
        brief(after)
    );
    Some(SchemaProblem::note(pointer::join(path, "required"), message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::check;

    fn texts(schema: Value) -> Vec<String> {
        check(&schema).iter().map(|problem| format!("{:?} {problem}", problem.severity)).collect()
    }

    #[test]
    fn limits_that_nothing_fits_are_warned_of() {
        let schema = json!({"type": "string", "minLength": 5, "maxLength": 3});
        assert_eq!(
            texts(schema),
            ["Warning /minLength: nothing fits: `minLength` is 5, more than `maxLength`, which is 3"]
        );
        assert_eq!(texts(json!({"minItems": 2, "maxItems": 2, "minimum": -1, "maximum": 0.5})), [""; 0]);
    }

    #[test]
    fn unlisted_required_key_gets_warning() {
        let schema = json!({"properties": {"title": {}, "body": {}}, "required": ["title", "boby"]});
        assert_eq!(
            texts(schema),
            ["Warning /required/1: `boby` is required, but `properties` does not list it; did you mean `body`?"]
        );
    }

    #[test]
    fn key_listed_by_other_schema_gets_no_warning() {
        for schema in [
            json!({"required": ["a"]}),
            json!({"properties": {"b": {}}, "required": ["a"], "$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}}}}}),
            json!({"properties": {"b": {}}, "required": ["a"], "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}, "b": {}}, "anyOf": [{"properties": {"b": {"const": 1}}, "required": ["a"]}]}),
        ] {
            assert_eq!(texts(schema.clone()), [""; 0], "{schema}");
        }
    }

    #[test]
    fn another_order_in_required_is_noted() {
        let schema = json!({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "c", "b"]});
        assert_eq!(
            texts(schema),
            [
                "Note /required: `required` has `c` before `b`, `properties` has them the other way round; agents are asked in the order of `required`"
            ]
        );
    }
}
