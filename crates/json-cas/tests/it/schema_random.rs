//! Random schemas and payloads.

use json_cas::schema::CompiledSchema;
use proptest::prelude::*;
use serde_json::{Value, json};

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        prop::sample::select(vec!["string", "integer", "object", "array", "null"])
            .prop_map(|name| json!({"type": name})),
        (-2i64..3).prop_map(|n| json!({"minimum": n})),
        (0u64..3).prop_map(|n| json!({"minItems": n})),
        (0u64..3).prop_map(|n| json!({"maxProperties": n})),
        (-2i64..3).prop_map(|n| json!({"const": n})),
        Just(json!({"enum": [0, "a", null]})),
        Just(json!({"required": ["a"]})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"pattern": "^a"})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        let list = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let single = prop::sample::select(vec![
            "not",
            "if",
            "then",
            "else",
            "items",
            "contains",
            "additionalProperties",
            "propertyNames",
            "unevaluatedProperties",
            "unevaluatedItems",
        ]);
        let named = prop::sample::select(vec!["properties", "patternProperties", "dependentSchemas"]);
        let word = (
            (list, several).prop_map(|(keyword, schemas)| (keyword, json!(schemas))),
            (single, inner.clone()).prop_map(|(keyword, schema)| (keyword, schema)),
            (named, inner.clone(), inner).prop_map(|(keyword, a, b)| (keyword, json!({"a": a, "b": b}))),
        );
        word.prop_map(|(a, b, c)| {
            let words = [a, b, c].into_iter().map(|(keyword, value)| (keyword.to_owned(), value));
            Value::Object(words.collect())
        })
    })
}

fn any_payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), Just(json!("a")), Just(json!("b")), (-3i64..4).prop_map(Value::from),];
    leaf.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The explanation and the validator agree on every schema and payload: when one sees a
    /// fault, the other does.
    #[test]
    fn every_fault_is_explained(schema in any_schema(), d in any_schema(), payload in any_payload()) {
        let mut schema = json!({"allOf": [schema]});
        schema["$defs"] = json!({"d": d});
        if let Ok(compiled) = CompiledSchema::compile(&schema) {
            let violations = compiled.violations(&payload);
            prop_assert_eq!(violations.is_empty(), compiled.is_valid(&payload));
            let unexplained = violations.iter().any(|violation| violation.keyword.is_empty());
            prop_assert!(!unexplained, "{} does not say why {} is wrong", schema, payload);
        }
    }
}
