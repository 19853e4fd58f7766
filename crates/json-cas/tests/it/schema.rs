//! Checking schemas, and telling what does not fit them.

use std::time::{Duration, Instant};

use json_cas::schema::{CompiledSchema, MAX_SCHEMA_DEPTH, MAX_VIOLATIONS, SchemaSeverity, check, is_remote_ref};
use json_cas::{NodeHash, SchemaViolation};
use serde_json::{Map, Value, json};

/// The violations as text; also that they agree with the validator.
fn told(schema: Value, payload: Value) -> Vec<String> {
    let schema = CompiledSchema::compile(&schema).unwrap();
    let violations = schema.violations(&payload);
    assert_eq!(violations.is_empty(), schema.is_valid(&payload));
    violations.iter().map(SchemaViolation::to_string).collect()
}

fn problems(schema: Value) -> Vec<String> {
    check(&schema)
        .into_iter()
        .map(|problem| match problem.severity {
            SchemaSeverity::Error => format!("error {problem}"),
            SchemaSeverity::Warning => format!("warning {problem}"),
            SchemaSeverity::Note => format!("note {problem}"),
        })
        .collect()
}

#[test]
fn tells_keys_and_values() {
    let schema = json!({
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": {"type": "string"}},
            "status": {"enum": ["done", "failed"]},
            "plan": {"type": "string", "format": "cas_ref"},
            "count": {"type": "integer", "minimum": 1}
        },
        "required": ["steps", "status", "plan"],
        "additionalProperties": false
    });
    assert_eq!(
        told(schema.clone(), json!({"status": "Done", "plann": 3, "zzz": 1, "count": 0})),
        [
            "missing key `steps` (array of strings)",
            "missing key `plan` (hash of a node)",
            "/status: expected \"done\" or \"failed\", found \"Done\"; did you mean \"done\"?",
            "unknown key `plann`; did you mean `plan`?",
            "unknown key `zzz`; allowed are `steps`, `status`, `plan` and `count`",
            "/count: expected 1 or more, found 0",
        ]
    );
    assert_eq!(
        told(schema, json!({"status": "done", "plan": "abc", "steps": ["a", 1, null], "count": 1.5})),
        [
            "/plan: expected the hash of a node (13 symbols, 0-9 and A-Z), found \"abc\"",
            "/steps/1: expected a string, found 1",
            "/steps/2: expected a string, found null",
            "/count: expected an integer, found 1.5",
        ]
    );
}

#[test]
fn violations_have_path_and_keyword() {
    let schema = CompiledSchema::compile(&json!({
        "properties": {"a/b": {"items": {"required": ["k"]}}}
    }))
    .unwrap();
    assert_eq!(
        schema.violations(&json!({"a/b": [{"k": 1}, {}]})),
        [SchemaViolation {
            path: "/a~1b/1".to_owned(),
            keyword: "required".to_owned(),
            message: "missing key `k`".to_owned(),
        }]
    );
}

#[test]
fn nullable_any_of_reports_errors_of_other_branch() {
    let nullable = json!({"anyOf": [
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
        {"type": "null"}
    ]});
    let schema = json!({"properties": {"a": nullable}});
    assert_eq!(told(schema.clone(), json!({"a": {"b": "x"}})), ["/a/b: expected an integer, found the string \"x\""]);
    assert_eq!(told(schema.clone(), json!({"a": {}})), ["/a: missing key `b` (integer)"]);
    assert_eq!(told(schema.clone(), json!({"a": 3})), ["/a: expected an object or null, found 3"]);
    assert_eq!(told(schema, json!({"a": null})), Vec::<String>::new());
    assert_eq!(
        told(json!({"oneOf": [{"const": null}, {"type": "string", "minLength": 3}]}), json!("x")),
        ["expected at least 3 characters, found 1"]
    );
    assert_eq!(told(json!({"type": ["null", "string"]}), json!(3)), ["expected a string or null, found 3"]);
}

#[test]
fn alternatives_say_which_failed_and_why() {
    assert_eq!(
        told(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!(true)),
        ["expected a string or an integer, found true"]
    );
    let tagged = json!({
        "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
        "$defs": {
            "a": {"type": "object", "properties": {"kind": {"const": "a"}, "x": true}, "required": ["kind", "x"]},
            "b": {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind", "y"]}
        }
    });
    assert_eq!(told(tagged.clone(), json!({"kind": "b"})), ["missing key `y` (string)"]);
    assert_eq!(
        told(tagged, json!({})),
        ["fits none of the 2 allowed forms; \
          form 1 [object with `kind` and `x`]: missing key `kind` (\"a\"), missing key `x` (any value); \
          form 2 [object with `kind` and `y`]: missing key `kind` (\"b\"), missing key `y` (string)"]
    );
    assert_eq!(
        told(json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}), json!(3)),
        ["fits more than one of the 2 allowed forms (1 and 2) and must fit exactly one"]
    );
    assert_eq!(
        told(
            json!({"anyOf": [{"type": "string"}, {"properties": {"n": {"type": "array", "items": {"type": "integer"}}}, "required": ["n"]}]}),
            json!({"n": [1, "2"]})
        ),
        ["/n/1: expected an integer, found the string \"2\""]
    );
}

#[test]
fn tells_every_other_keyword() {
    for (schema, payload, expected) in [
        (json!({"not": {"type": "string"}}), json!("x"), "must not be string, found the string \"x\""),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!({"A": 1}),
            "bad key `A`: \"A\" does not match the pattern `^[a-z]+$`",
        ),
        (json!({"minLength": 1}), json!(""), "the text is empty"),
        (json!({"maxLength": 2}), json!("äöü"), "expected at most 2 characters, found 3"),
        (json!({"minItems": 1}), json!([]), "expected at least 1 item, found 0"),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 2}), "expected at most 1 key, found 2"),
        (json!({"multipleOf": 2}), json!(1), "expected a multiple of 2, found 1"),
        (json!({"exclusiveMaximum": 2}), json!(2), "expected less than 2, found 2"),
        (json!({"uniqueItems": true}), json!([1, 1.0]), "the items must all be different"),
        (json!({"format": "date"}), json!("x"), "expected a date like 2026-01-31, found \"x\""),
        (json!({"const": {"a": 1}}), json!(1), "expected {\"a\":1}, found 1"),
        (json!({"contains": {"const": 1}}), json!([2]), "no item is 1"),
        (
            json!({"contains": {"type": "string"}, "minContains": 2}),
            json!(["a"]),
            "expected at least 2 items that are string, found 1",
        ),
        (
            json!({"contains": {"type": "string"}, "maxContains": 1}),
            json!(["a", "b"]),
            "expected at most 1 items that are string, found 2",
        ),
        (json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}), json!({"a": 1}), "missing key `b`"),
        (json!({"if": {"required": ["a"]}, "else": {"required": ["b"]}}), json!({}), "missing key `b`"),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), "missing key `b`"),
        (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"a": 1}), "missing key `b`"),
        (json!({"dependentSchemas": {"a": false}}), json!({"a": 1}), "nothing is allowed here"),
        (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a", 1]), "/1: nothing is allowed here"),
        (
            json!({"patternProperties": {"^n": {"type": "integer"}}}),
            json!({"n1": "x"}),
            "/n1: expected an integer, found the string \"x\"",
        ),
        (
            json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
            json!({"a": 1, "b": 1}),
            "unknown key `b`",
        ),
        (
            json!({"prefixItems": [true], "unevaluatedItems": {"type": "string"}}),
            json!([1, 2]),
            "/1: expected a string, found 2",
        ),
        (
            json!({"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "string"}}}),
            json!(1),
            "expected a string, found 1",
        ),
        (json!(false), json!(1), "nothing is allowed here"),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false}),
            json!(["a", 1]),
            "/1: nothing is allowed here",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}}),
            json!({"a": 1}),
            "missing key `b`",
        ),
    ] {
        assert_eq!(told(schema.clone(), payload), [expected], "{schema}");
    }
}

#[test]
fn long_payloads_give_short_messages() {
    let schema = json!({"items": {"enum": ["a"]}});
    let payload: Value = (0..1000).map(|n| Value::from(format!("{n}{}", "x".repeat(1000)))).collect();
    let violations = told(schema, payload);
    assert_eq!(violations.len(), MAX_VIOLATIONS);
    assert_eq!(violations[7], format!("/7: expected \"a\", found \"7{}…", "x".repeat(58)));
}

#[test]
fn check_finds_everything_at_once() {
    assert_eq!(
        problems(json!({
            "type": "strng",
            "propertees": {},
            "required": "a",
            "properties": {
                "a": {"type": "string", "format": "cas-ref", "name": "x", "x-mine": 1},
                "b": {"$ref": "https://example.org/x"},
                "c": {"$ref": "#/$defs/nope"},
                "d": {"pattern": "(?=x)"},
                "e": 3,
                "f": {"items": [{}]},
                "g": {"minimum": "3"}
            },
            "$defs": {"d": {"type": ["string", "string", 4]}}
        })),
        [
            "error /type: `strng` is not a type; did you mean `string`?",
            "warning /propertees: `propertees` is not a keyword and has no effect; did you mean `properties`?",
            "warning /properties/a/format: the format `cas-ref` is unknown and not checked; did you mean `cas_ref`?",
            "warning /properties/a/name: `name` is not a keyword and has no effect",
            "error /properties/b/$ref: `https://example.org/x` is outside this schema; copy what it names into `$defs`",
            "error /properties/c/$ref: `#/$defs/nope` names nothing in this schema",
            "error /properties/d/pattern: `(?=x)` is not a regular expression that runs in linear time (no look-around, no back-references)",
            "error /properties/f/items: `items` holds one schema for all items; use `prefixItems` for a list",
            "error /$defs/d/type: `string` is listed twice",
            "error /$defs/d/type: expected the name of a type, found an integer",
            "error /properties/e: expected a boolean or an object, found 3",
            "error /properties/g/minimum: expected a number, found the string \"3\"",
            "error /required: expected an array, found the string \"a\"",
        ]
    );
}

#[test]
fn check_names_single_faults() {
    for (schema, expected) in [
        (json!(3), "error a schema is an object, true or false, not an integer"),
        (json!({"properties": []}), "error /properties: expected an object of schemas, found an array"),
        (json!({"anyOf": []}), "error /anyOf: expected at least 1 item, found 0"),
        (json!({"allOf": {}}), "error /allOf: expected a list of schemas, found an object"),
        (
            json!({"patternProperties": {"(": {}}}),
            "error /patternProperties/(: `(` is not a regular expression that runs in linear time (no look-around, no back-references)",
        ),
        (
            json!({"$schema": "http://example.org/schema"}),
            "error /$schema: an unknown dialect; leave `$schema` out or name draft 2020-12",
        ),
        (
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            "error /$ref: `https://json-schema.org/draft/2020-12/schema` is outside this schema; copy what it names into `$defs`",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "error /$ref: `file:///etc/passwd` is outside this schema; copy what it names into `$defs`",
        ),
        (json!({"$ref": "#"}), "error a reference leads back to itself for the same value, so it means nothing"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}}}),
            "error a reference leads back to itself for the same value, so it means nothing",
        ),
        (json!({"format": "foo"}), "warning /format: the format `foo` is unknown and not checked"),
    ] {
        assert_eq!(problems(schema.clone()), [expected], "{schema}");
    }
    for good in [
        json!(true),
        json!({}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": ["string", "null"]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "definitions": {"a": {}}}),
        json!({"$id": "https://example.org/a", "$ref": "https://example.org/a#/$defs/x", "$defs": {"x": {}}}),
        json!({"$ref": "#tree", "$defs": {"t": {"$anchor": "tree", "properties": {"child": {"$ref": "#tree"}}}}}),
    ] {
        assert_eq!(problems(good.clone()), Vec::<String>::new(), "{good}");
    }
    assert!(is_remote_ref("https://example.org") && is_remote_ref("other.json") && !is_remote_ref("#/a"));
}

/// 28 definitions, each naming the next twice.
fn bomb(levels: usize, name_twice: impl Fn(Value) -> Value) -> Value {
    let mut defs: Map<String, Value> = (0..levels)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            (format!("d{level}"), name_twice(next))
        })
        .collect();
    defs.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

#[test]
fn dynamic_self_reference_is_rejected() {
    let dynamic = json!({ "$dynamicAnchor": "node", "properties": { "next": { "$dynamicRef": "#node" } } });
    let refused = CompiledSchema::compile(&dynamic).unwrap_err().to_string();
    assert!(refused.contains("judging a value could take for ever; use `$ref`"), "{refused}");
    let recursive = json!({
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": true,
        "properties": { "next": { "$recursiveRef": "#" } },
    });
    assert!(CompiledSchema::compile(&recursive).is_err());
    let plain = json!({ "$anchor": "node", "properties": { "next": { "$ref": "#node" } } });
    assert!(CompiledSchema::compile(&plain).unwrap().is_valid(&json!({ "next": { "next": {} } })));
}

#[test]
fn bombs_are_refused_at_once() {
    let start = Instant::now();
    let too_many = "error its references amount to more than 4096 when written out";
    assert_eq!(problems(bomb(28, |next| json!({"allOf": [next, next]}))), [too_many]);
    assert_eq!(problems(bomb(28, |next| json!({"properties": {"a": next, "b": next}}))), [too_many]);
    let around = bomb(28, |next| json!({"anyOf": [next, next], "properties": {"again": {"$ref": "#/$defs/d0"}}}));
    assert_eq!(problems(around), [too_many]);
    assert_eq!(
        problems(bomb(200, |next| json!({"properties": {"a": next}}))),
        ["error its references lead through more than 64 others"]
    );
    let error = CompiledSchema::compile(&bomb(28, |next| json!({"allOf": [next, next]}))).unwrap_err();
    assert_eq!(error.to_string(), "bad schema: its references amount to more than 4096 when written out");
    let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
    assert_eq!(
        problems(deep),
        [format!("error {}: schemas are nested deeper than {MAX_SCHEMA_DEPTH} levels", "/not".repeat(97))]
    );
    // Generous for a debug build on a busy machine; without the limits each would take hours.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Twelve kinds of node whose children are any of the twelve.
fn tree_of_kinds() -> Value {
    let kinds: Vec<Value> = (0..12).map(|n| json!({"$ref": format!("#/$defs/k{n}")})).collect();
    let defs: Map<String, Value> = (0..12)
        .map(|n| {
            let child = json!({"anyOf": kinds});
            let kind = json!({
                "type": "object",
                "properties": {"left": child, "right": child, "kind": {"const": format!("k{n}")}},
                "required": ["kind"],
                "additionalProperties": false
            });
            (format!("k{n}"), kind)
        })
        .collect();
    json!({"anyOf": kinds, "$defs": defs})
}

/// A schema in which each of `kinds` definitions says that `a` and `b` are any of them.
fn all_to_all(kinds: usize, keyword: &str) -> Value {
    let any: Vec<Value> = (0..kinds).map(|n| json!({"$ref": format!("#/$defs/k{n}")})).collect();
    let kind = json!({"type": "object", "properties": {"a": {keyword: any}, "b": {keyword: any}}});
    let defs: Map<String, Value> = (0..kinds).map(|n| (format!("k{n}"), kind.clone())).collect();
    json!({keyword: any, "$defs": defs})
}

/// The validator alone takes 12^20 comparisons here, and its explanation grew by the same factor.
#[test]
fn exhaustively_recursive_schema_is_decided_immediately() {
    let schema = CompiledSchema::compile(&all_to_all(12, "anyOf")).unwrap();
    let nested = |levels: usize, leaf: Value| (0..levels).fold(leaf, |inner, _| json!({"a": inner}));
    let begun = Instant::now();
    assert!(schema.is_valid(&nested(60, json!({}))));
    assert!(!schema.is_valid(&nested(60, json!(1))));
    let [violation] = &schema.violations(&nested(60, json!(1)))[..] else { panic!("one root cause") };
    assert!(violation.message.len() < 10_000, "{} bytes", violation.message.len());
    assert!(violation.message.starts_with("fits none of the 12 allowed forms; form 1 "), "{}", violation.message);
    // Generous for a debug build on a busy machine; the validator would take longer than anybody lives.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn unevaluated_within_unevaluated_is_decided_at_once() {
    let nest = |keyword: &str| {
        (0..40).fold(
            json!({"properties": {"a": {}}}),
            |inner, _| json!({keyword: [inner], "unevaluatedProperties": false}),
        )
    };
    let begun = Instant::now();
    for keyword in ["allOf", "anyOf"] {
        let schema = CompiledSchema::compile(&nest(keyword)).unwrap();
        assert_eq!([json!({"a": 1}), json!({"b": 1})].map(|value| schema.is_valid(&value)), [true, false], "{keyword}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn patterns_have_a_size_and_a_number() {
    let begun = Instant::now();
    let large = "error /pattern: `((a{100}){100}){100}` is not a regular expression that runs in linear time (no look-around, no back-references), or takes more than 1 MiB when its repetitions are written out";
    assert_eq!(problems(json!({"pattern": "((a{100}){100}){100}"})), [large]);
    let many: Map<String, Value> = (0..5000).map(|n| (format!("^key{n}$"), json!({}))).collect();
    assert_eq!(problems(json!({"patternProperties": many})), ["error it has 5000 patterns, more than 200"]);
    assert_eq!(problems(json!({"pattern": "^.{1,1000}$"})), Vec::<String>::new());
    // Many keys under patterns: each pattern is compiled once.
    let few: Map<String, Value> = (0..20).map(|n| (format!("^[a-z]+{n}$"), json!({"type": "null"}))).collect();
    let schema = CompiledSchema::compile(&json!({"patternProperties": few})).unwrap();
    let keys: Map<String, Value> = (0..2000).map(|n| (format!("key{n}"), json!(1))).collect();
    assert_eq!(schema.violations(&Value::Object(keys)).len(), 20);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// Before 2019-09 nothing beside a `$ref` counted, whoever decides.
#[test]
fn keywords_beside_reference_follow_dialect() {
    for (dialect, fits) in
        [("http://json-schema.org/draft-07/schema#", true), ("https://json-schema.org/draft/2020-12/schema", false)]
    {
        let schema = json!({
            "$schema": dialect,
            "$ref": "#/definitions/tree",
            "definitions": {"tree": {"properties": {"child": {"$ref": "#/definitions/tree", "required": ["x"]}}}}
        });
        let schema = CompiledSchema::compile(&schema).unwrap();
        assert_eq!(schema.is_valid(&json!({"child": {}})), fits, "{dialect}");
        assert!(schema.is_valid(&json!({"child": {"x": {}}})));
    }
}

/// Such unions are ordinary, and an answer that is wrong deep inside one must not hang the reader.
#[test]
fn nested_alternatives_are_explained_at_once() {
    let schema = CompiledSchema::compile(&tree_of_kinds()).unwrap();
    let wrong =
        (0..20).fold(json!({"kind": "k99"}), |inner, _| json!({"left": inner, "kind": "k7", "right": {"kind": "k3"}}));
    let start = Instant::now();
    let violations = schema.violations(&wrong);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let first = &violations[0];
    assert_eq!((violations.len(), first.path.len()), (1, 20 * "/left".len()));
    assert!(
        first.message.starts_with("fits none of the 12 allowed forms; form 1 [object with `kind`, `left` and `right`]: /kind: expected \"k0\", found \"k99\"; form 2"),
        "{}",
        first.message
    );
}

#[test]
fn finds_references_in_every_branch_in_order() {
    let hash = |n: u64| NodeHash::from_u64(n).to_string();
    let reference = json!({"type": "string", "format": "cas_ref"});
    let schema = CompiledSchema::compile(&json!({
        "$defs": {"ref": reference, "list": {"items": {"$ref": "#/$defs/ref"}}},
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/ref"},
            "nullable": {"anyOf": [reference, {"type": "null"}]},
            "tuple": {"prefixItems": [{"type": "string"}, reference], "items": reference},
            "text": {"type": "string"}
        },
        "patternProperties": {"^p_": reference},
        "additionalProperties": {"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/list"}]},
        "allOf": [{"properties": {"late": {"contains": reference}}}],
        "if": {"required": ["no"]}, "then": {"properties": {"then": reference}}, "else": {"properties": {"else": reference}},
        "not": {"properties": {"not": reference}},
        "dependentSchemas": {"x": {"properties": {"dependent": reference}}}
    }))
    .unwrap();
    let payload = json!({
        "text": hash(90),
        "else": hash(1),
        "then": hash(2),
        "not": hash(91),
        "dependent": hash(3),
        "late": [hash(4), 5],
        "p_x": hash(6),
        "other": [hash(7), hash(1)],
        "tuple": [hash(92), hash(8), hash(9)],
        "nullable": hash(10),
        "one": hash(11).to_lowercase(),
    });
    let found: Vec<u64> = schema.refs(&payload).into_iter().map(NodeHash::as_u64).collect();
    assert_eq!(found, [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
    assert_eq!(schema.refs(&json!({"nullable": null, "one": "not a hash"})), []);
}

#[test]
fn references_are_found_through_circles() {
    let schema = json!({
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"properties": {
            "value": {"format": "cas_ref"},
            "children": {"items": {"$ref": "#/$defs/tree"}}
        }, "allOf": [{"properties": {"children": {"items": {"$ref": "#/$defs/tree"}}}}]}}
    });
    let schema = CompiledSchema::compile(&schema).unwrap();
    let leaf = |n: u64| json!({"value": NodeHash::from_u64(n).to_string()});
    let payload = json!({"value": leaf(1)["value"], "children": [leaf(2), {"children": [leaf(3)]}]});
    let found: Vec<u64> = schema.refs(&payload).into_iter().map(NodeHash::as_u64).collect();
    assert_eq!(found, [1, 2, 3]);
}
