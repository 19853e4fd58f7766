//! Builds a value that fits a schema, for people to copy, run, and edit.

use serde_json::{Map, Number, Value, json};

use crate::schema_shape::{SchemaShape, shape};

/// Deepest nesting that is filled in.
const MAX_LEVELS: usize = 8;

/// Most members of a list, or repetitions of a text, to satisfy a minimum.
const MAX_REPEATED: u64 = 20;

/// A value that fits a schema, with optional keys if they fit; `None` if none is found. Booleans are false, so that copying the sample
/// approves nothing.
pub fn sample(schema: &json_cas::CompiledSchema) -> Option<Value> {
    let root = schema.value();
    let fits = |value: &Value| schema.violations(value).is_empty();
    [false, true].into_iter().map(|only_required| place(root, &shape(root, &[root]), only_required, 0)).find(fits)
}

fn place(root: &Value, here: &SchemaShape<'_>, only_required: bool, level: usize) -> Value {
    if let Some(first) = here.allowed().and_then(|allowed| allowed.first().copied()) {
        return first.clone();
    }
    let types = here.types(root);
    let is = |name: &str| types.as_ref().is_some_and(|types| types.contains(name));
    let is_object = types.is_none() && !here.keys().is_empty();
    if level < MAX_LEVELS && (is("object") || is_object) {
        return object(root, here, only_required, level);
    }
    if is("boolean") {
        return json!(false);
    }
    if is("string") {
        return Value::from(words(here));
    }
    if is("integer") || is("number") {
        return here.keyword("minimum").next().cloned().unwrap_or_else(|| Value::Number(Number::from(1)));
    }
    if is("array") {
        let least = here.keyword("minItems").filter_map(Value::as_u64).max().unwrap_or(1).clamp(1, MAX_REPEATED);
        let member = place(root, &shape(root, &here.item(0)), only_required, level + 1);
        let count = if level < MAX_LEVELS { least } else { 0 };
        return (0..count).map(|_| member.clone()).collect();
    }
    if is("null") { Value::Null } else { Value::from("text") }
}

fn object(root: &Value, here: &SchemaShape<'_>, only_required: bool, level: usize) -> Value {
    let required = here.required();
    let keys = here.keys_of_all(root);
    let wanted = keys.into_iter().filter(|key| !only_required || required.contains(key));
    let entries = wanted.map(|key| {
        let schemas = here.property(key).unwrap_or_default();
        (key.to_owned(), place(root, &shape(root, &schemas), only_required, level + 1))
    });
    Value::Object(entries.collect::<Map<String, Value>>())
}

/// A text with the required length and format.
fn words(here: &SchemaShape<'_>) -> String {
    let kind = match here.text("format") {
        Some("date") => "2026-01-31",
        Some("time") => "12:00:00Z",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("email") => "name@example.org",
        Some("uri" | "uri-reference" | "iri") => "https://example.org",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("cas_ref") => "0000000000000",
        _ => "text",
    };
    let least = here.keyword("minLength").filter_map(Value::as_u64).max().unwrap_or(0);
    let times = least.div_ceil(kind.len() as u64).clamp(1, MAX_REPEATED);
    let most = here.keyword("maxLength").filter_map(Value::as_u64).min().unwrap_or(u64::MAX);
    kind.repeat(usize::try_from(times).unwrap_or(1)).chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(schema: Value) -> Option<Value> {
        sample(&json_cas::CompiledSchema::compile(&schema).unwrap())
    }

    #[test]
    fn a_sample_fits_and_agrees_to_nothing() {
        let approval = json!({"type": "object", "properties": {"approved": {"type": "boolean"}, "why": {"type": "string"}}, "required": ["approved"]});
        assert_eq!(sampled(approval), Some(json!({"approved": false, "why": "text"})));
        let plan = json!({"type": "object", "properties": {
            "risk": {"enum": ["low", "high"]},
            "steps": {"type": "array", "minItems": 2, "items": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}},
            "due": {"type": ["string", "null"], "format": "date"},
            "note": {"type": "string", "minLength": 9, "maxLength": 10},
        }, "required": ["risk"]});
        assert_eq!(
            sampled(plan),
            Some(json!({"risk": "low", "steps": [{"n": 3}, {"n": 3}], "due": "2026-01-31", "note": "texttextte"}))
        );
        assert_eq!(sampled(json!({"type": "string"})), Some(json!("text")));
    }

    #[test]
    fn unfillable_keys_are_omitted_or_prevent_sample() {
        let coded = json!({"type": "object", "properties": {"ok": {"type": "boolean"}, "code": {"type": "string", "pattern": "^[A-Z]{3}$"}}, "required": ["ok"]});
        assert_eq!(sampled(coded), Some(json!({"ok": false})));
        let needed = json!({"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}}, "required": ["code"]});
        assert_eq!(sampled(needed), None);
        assert_eq!(sampled(json!({"const": true})), None.or(Some(json!(true))));
    }

    #[test]
    fn a_shape_that_holds_itself_ends() {
        let tree = json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}}});
        assert!(sampled(tree).is_some());
    }
}
