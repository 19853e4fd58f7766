//! The strict copy of a schema, and the way back.

use serde_json::{Value, json};
use uwf_llm::strict::{strict, without_nulls};

#[test]
fn the_copy_is_closed_and_requires_everything() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "verdict",
        "properties": {
            "status": { "enum": ["done", "failed"] },
            "plan": { "type": "string", "format": "cas_ref", "pattern": "^[0-9A-Z]{13}$", "description": "the plan" },
            "note": { "type": "string", "maxLength": 80, "default": "" },
            "level": { "type": "integer", "enum": [1, 2] },
            "kind": { "const": "a" },
            "steps": {
                "type": "array",
                "minItems": 1,
                "items": { "type": "object", "properties": { "name": { "type": "string" }, "ms": { "type": ["number", "null"] } } }
            },
            "where": { "$ref": "#/$defs/place" }
        },
        "required": ["status", "plan", "steps"],
        "$defs": {
            "place": { "oneOf": [{ "type": "string" }, { "type": "object", "properties": { "line": { "type": "integer" } }, "required": ["line"] }] }
        }
    });
    let expected = json!({
        "type": "object",
        "title": "verdict",
        "properties": {
            "status": { "enum": ["done", "failed"], "type": "string" },
            "plan": { "type": "string", "description": "the plan" },
            "note": { "type": ["string", "null"] },
            "level": { "type": ["integer", "null"], "enum": [1, 2, null] },
            "kind": { "anyOf": [{ "const": "a", "type": "string" }, { "type": "null" }] },
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "name": { "type": ["string", "null"] }, "ms": { "type": ["number", "null"] } },
                    "required": ["name", "ms"],
                    "additionalProperties": false
                }
            },
            "where": { "anyOf": [{ "$ref": "#/$defs/place" }, { "type": "null" }] }
        },
        "$defs": {
            "place": { "anyOf": [{ "type": "string" }, {
                "type": "object",
                "properties": { "line": { "type": "integer" } },
                "required": ["line"],
                "additionalProperties": false
            }] }
        },
        "required": ["status", "plan", "note", "level", "kind", "steps", "where"],
        "additionalProperties": false
    });
    assert_eq!(strict(&schema).unwrap(), expected);
}

#[test]
fn schemas_outside_the_subset_have_no_copy() {
    let property = |inner: Value| json!({ "type": "object", "properties": { "a": inner } });
    let schemas = [
        json!(true),
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": "object" }),
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "if": {} }),
        property(json!({})),
        property(json!({ "type": "array" })),
        property(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        property(json!({ "type": "object", "patternProperties": { "^a": { "type": "string" } } })),
        property(json!({ "type": "array", "prefixItems": [{ "type": "string" }] })),
        property(json!({ "allOf": [{ "type": "string" }] })),
        property(json!({ "enum": [1, "a"] })),
    ];
    for schema in schemas {
        assert_eq!(strict(&schema), None, "{schema}");
    }
    let mut deep = json!({ "type": "string" });
    for _ in 0..100 {
        deep = property(deep);
    }
    assert_eq!(strict(&deep), None);
}

#[test]
fn only_nulls_of_optional_properties_are_removed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "must": { "type": "string" },
            "may": { "type": "string" },
            "null_is_fine": { "type": ["string", "null"] },
            "one_of": { "enum": ["a", "b"] },
            "tree": { "$ref": "#/$defs/tree" },
            "list": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/tree" }, { "$ref": "#/$defs/leaf" }] } }
        },
        "required": ["must"],
        "$defs": {
            "tree": {
                "type": "object",
                "properties": { "kind": { "const": "tree" }, "name": { "type": "string" }, "left": { "$ref": "#/$defs/tree" } },
                "required": ["kind"]
            },
            "leaf": {
                "type": "object",
                "properties": { "kind": { "const": "leaf" }, "name": { "type": "null" } },
                "required": ["kind"]
            }
        }
    });
    let tree = |left: Value| json!({ "kind": "tree", "name": null, "left": left });
    let value = json!({
        "must": null,
        "may": null,
        "null_is_fine": null,
        "one_of": null,
        "unknown": null,
        "tree": tree(tree(Value::Null)),
        "list": [tree(Value::Null), { "kind": "leaf", "name": null }, 7]
    });
    let expected = json!({
        "must": null,
        "null_is_fine": null,
        "unknown": null,
        "tree": { "kind": "tree", "left": { "kind": "tree" } },
        "list": [{ "kind": "tree" }, { "kind": "leaf", "name": null }, 7]
    });
    assert_eq!(without_nulls(value, &schema), expected);
}

#[test]
fn references_that_lead_in_circles_end() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/properties/a" }, "b": { "anyOf": [{ "$ref": "#/properties/b" }] } }
    });
    let value = json!({ "a": { "x": null }, "b": [null] });
    assert_eq!(without_nulls(value.clone(), &schema), value);
    assert!(strict(&schema).is_some());
}
