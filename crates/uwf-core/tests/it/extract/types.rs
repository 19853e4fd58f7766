//! Values are typed by the schema.

use super::*;

fn with(lines: &str) -> ExtractedAnswer {
    found(&format!("---\nstatus: done\nplan: p\n{lines}\n---\n"))
}

fn of(lines: &str, key: &str) -> Value {
    with(lines).value[key].clone()
}

#[test]
fn booleans_are_read_as_people_write_them() {
    for (written, expected) in [("true", true), ("no", false), ("Yes", true), ("'false'", false), ("off", false)] {
        assert_eq!(of(&format!("ok: {written}"), "ok"), json!(expected), "{written}");
    }
    assert_eq!(with("ok: no").fixes, ["`ok`: read `no` as false"]);
}

#[test]
fn numbers_are_read_as_people_write_them() {
    assert_eq!(of("score: '0.9'", "score"), json!(0.9));
    assert_eq!(of("score: 1", "score"), json!(1));
    assert_eq!(of("count: 3.0", "count"), json!(3));
    assert_eq!(of("count: \"7\"", "count"), json!(7));
    assert_eq!(of("count: 5 # five", "count"), json!(5));
}

#[test]
fn lists_are_read_as_people_write_them() {
    assert_eq!(of("files: src/a.rs", "files"), json!(["src/a.rs"]));
    assert_eq!(of("files: a.rs, b.rs", "files"), json!(["a.rs", "b.rs"]));
    assert_eq!(of("files: First, do this", "files"), json!(["First, do this"]));
    assert_eq!(of("files: [a.rs, \"b c\"]", "files"), json!(["a.rs", "b c"]));
    assert_eq!(of("files: '[\"a\", \"b\"]'", "files"), json!(["a", "b"]));
    assert_eq!(of("files:\n- a\n- b", "files"), json!(["a", "b"]));
    assert_eq!(of("files:\n  1. a\n  2. b: c", "files"), json!(["a", "b: c"]));
    assert_eq!(of("files:\n  * a\n  * b", "files"), json!(["a", "b"]));
    assert_eq!(
        of("files:\n  - *.rs\n  - @x\n  - [WIP] y\n  - fix: z\n  - #42\n  - `q`", "files"),
        json!(["*.rs", "@x", "[WIP] y", "fix: z", "#42", "`q`"])
    );
    assert_eq!(of("files:", "files"), json!([]));
    assert_eq!(of("files: []", "files"), json!([]));
}

#[test]
fn object_like_items_stay_text_where_expected() {
    assert_eq!(of("files:\n  - fix: the bug\n  - Fix #3 too", "files"), json!(["fix: the bug", "Fix #3 too"]));
}

#[test]
fn enum_values_match_only_when_unambiguous() {
    for written in ["In progress", "IN_PROGRESS", "\"in-progress\"", "`in-progress`", "**in-progress**", "in-progress."]
    {
        let raw = format!("---\nstatus: {written}\nplan: p\n---\n");
        assert_eq!(value(&raw)["status"], json!("in-progress"), "{written}");
    }
    assert!(failed("---\nstatus: almost\nplan: p\n---\n").errors[0].contains("status"));
}

#[test]
fn null_is_read_where_the_schema_has_it() {
    for written in ["null", "~", ""] {
        assert_eq!(of(&format!("note: {written}"), "note"), json!(null), "{written:?}");
    }
    assert_eq!(of("note: some", "note"), json!("some"));
    assert_eq!(of("note: 'null'", "note"), json!("null"));
}

#[test]
fn null_for_an_optional_key_leaves_it_out() {
    let found = with("caveat: null");
    assert_eq!((found.value, found.fixes), (done(), vec!["`caveat`: left out, since nothing was written".to_owned()]));
}

#[test]
fn null_for_a_required_key_is_an_error() {
    assert!(failed("---\nstatus: done\nplan:\n---\n").errors[0].contains("plan"));
}

#[test]
fn objects_are_read_as_people_write_them() {
    assert_eq!(of("owner:\n  name: @bob\n  team: a: b", "owner"), json!({"name": "@bob", "team": "a: b"}));
    assert_eq!(of("owner: {name: x, team: y}", "owner"), json!({"name": "x", "team": "y"}));
    assert_eq!(of("owner: '{\"name\": \"x\"}'", "owner"), json!({"name": "x"}));
}

#[test]
fn lists_of_objects_are_read() {
    let lines = "phases:\n  - hash: 1234567890123\n    title: Fix #1: login\n  - hash: 0000000000000\n    title: `two`";
    assert_eq!(
        of(lines, "phases"),
        json!([{"hash": "1234567890123", "title": "Fix #1: login"}, {"hash": "0000000000000", "title": "`two`"}])
    );
}

#[test]
fn tabs_count_as_indentation() {
    assert_eq!(of("owner:\n\tname: x\n\tteam: y", "owner"), json!({"name": "x", "team": "y"}));
    assert_eq!(of("files:\n\t- a\n\t-\tb\ncount:\t4", "files"), json!(["a", "b"]));
}

#[test]
fn keys_in_other_case() {
    let found = with("files_changed: [a]\nScore: 1");
    assert_eq!(found.value, json!({"status": "done", "plan": "p", "filesChanged": ["a"], "score": 1}));
    assert_eq!(found.fixes, ["read the key `files_changed` as `filesChanged`", "read the key `Score` as `score`"]);
}

#[test]
fn keys_with_equals_signs_and_emphasis() {
    assert_eq!(value("---\nstatus = done\nplan = p\n---\n"), done());
    assert_eq!(value("---\n**status:** done\n**plan**: p\n---\n"), done());
    assert_eq!(value("---\nstatus:done\nplan:p\n---\n"), done());
}

#[test]
fn a_key_written_twice() {
    assert_eq!(with("plan: p").value, done());
    let failure = failed("---\nstatus: done\nplan: p\nplan: q\n---\n");
    assert_eq!(failure.errors, ["`plan` is written twice, with different values: keep one"]);
}

#[test]
fn alternatives_are_chosen_by_the_fitting_schema() {
    let schema = json!({"type": "object", "required": ["result"], "properties": {"result": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "ok"}, "value": {"type": "integer"}}, "required": ["kind", "value"]},
        {"type": "object", "properties": {"kind": {"const": "error"}, "message": {"type": "string"}}, "required": ["kind", "message"]},
    ]}}});
    let read = |raw| found_in(raw, &schema).value;
    assert_eq!(read("---\nresult:\n  kind: ok\n  value: '4'\n---\n"), json!({"result": {"kind": "ok", "value": 4}}));
    assert_eq!(
        read("---\nresult:\n  kind: error\n  message: 12\n---\n"),
        json!({"result": {"kind": "error", "message": "12"}})
    );
}

#[test]
fn schemas_that_refer_to_themselves_are_followed() {
    let schema = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    let found = found_in("---\nname: 1\nchildren:\n  - name: 2\n    children: {name: 3}\n---\n", &schema);
    assert_eq!(found.value, json!({"name": "1", "children": [{"name": "2", "children": [{"name": "3"}]}]}));
}
