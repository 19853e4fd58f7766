//! Keys the schema lacks.

use super::*;

#[test]
fn always_allowed_keys_the_schema_lacks_go_beside() {
    let found =
        found("---\nstatus: done\nplan: p\nnext: reviewer\nconfidence: 0.9\nartifacts: [a.rs]\nscope: all\n---\n");
    assert_eq!(found.value, done());
    assert_eq!(
        Value::Object(found.extras),
        json!({"next": "reviewer", "confidence": 0.9, "artifacts": ["a.rs"], "scope": "all"})
    );
    assert_eq!(found.fixes, Vec::<String>::new());
}

#[test]
fn they_do_not_fail_a_closed_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let found = found_in("---\na: x\nstatus: done\nother: y\n---\n", &schema);
    assert_eq!(found.value, json!({"a": "x"}));
    assert_eq!(Value::Object(found.extras), json!({"status": "done"}));
    assert_eq!(found.fixes, ["`other`: left out, the schema has no such key"]);
}

#[test]
fn an_open_schema_keeps_what_it_allows() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}});
    assert_eq!(found_in("---\na: 1\nb: '2'\n---\n", &schema).value, json!({"a": "1", "b": 2}));
    let schema = json!({"type": "object"});
    assert_eq!(found_in("---\nx: 1\nstatus: done\n---\n", &schema).value, json!({"x": 1, "status": "done"}));
}
