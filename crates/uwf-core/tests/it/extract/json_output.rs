//! The rung for commands that print JSON.

use super::*;

fn json_in(raw: &str, schema: &Value) -> Extraction {
    json_rung(raw, &CompiledSchema::compile(schema).expect("a valid schema"))
}

fn value(raw: &str) -> Value {
    match json_in(raw, &task_schema()) {
        Extraction::Found(found) => found.value,
        Extraction::Failed(failure) => panic!("no JSON in {raw:?}: {failure:#?}"),
    }
}

#[test]
fn json_is_the_whole_output() {
    let extraction = json_in("{\"status\": \"done\", \"plan\": \"p\", \"more\": 1}\n", &task_schema());
    let value = json!({"status": "done", "plan": "p", "more": 1});
    assert_eq!(extraction, Extraction::Found(ExtractedAnswer::from(value)));
}

#[test]
fn other_values_than_objects() {
    let found = |raw, schema| match json_in(raw, &schema) {
        Extraction::Found(found) => found.value,
        Extraction::Failed(failure) => panic!("{failure:#?}"),
    };
    assert_eq!(found("[1, 2]", json!({"type": "array", "items": {"type": "integer"}})), json!([1, 2]));
    assert_eq!(found("log\n[1, 2]\n", json!({"type": "array", "items": {"type": "integer"}})), json!([1, 2]));
    assert_eq!(found("7", json!({"type": "integer"})), json!(7));
}

#[test]
fn dressing_and_chatter_around_it() {
    assert_eq!(value("\u{feff}\u{1b}[1m{\"status\": \"done\", \"plan\": \"p\"}\u{1b}[0m\r\n"), done());
    assert_eq!(value("{\"level\": \"info\"}\nstarting {x}\n{\"status\": \"done\", \"plan\": \"p\"}\ndone.\n"), done());
    assert_eq!(value("Here:\n```json\n{\"status\": \"done\", \"plan\": \"p\"}\n```\n"), done());
}

#[test]
fn the_only_valid_one_counts() {
    let others = "{\"status\": \"busy\"}\n{\"status\": \"done\", \"plan\": \"p\"}\n{\"a\": 1}";
    assert_eq!(value(others), done());
}

#[test]
fn values_are_typed_by_the_schema() {
    assert_eq!(
        value("{\"status\": \"DONE\", \"plan\": \"p\", \"ok\": \"yes\", \"count\": \"3\"}"),
        json!({"status": "done", "plan": "p", "ok": true, "count": 3})
    );
    assert_eq!(
        value("{'status': 'done', 'plan': 'p', 'ok': True}"),
        json!({"status": "done", "plan": "p", "ok": true})
    );
}

#[test]
fn no_json_is_said() {
    let errors = |raw| match json_in(raw, &task_schema()) {
        Extraction::Failed(failure) => failure.errors,
        Extraction::Found(found) => panic!("{found:#?}"),
    };
    assert_eq!(errors(""), ["the answer is empty"]);
    assert_eq!(errors("all fine"), ["the output is not JSON"]);
    assert_eq!(
        errors("{\"status\": \"done\", \"plan\": \"p\", \"plan\": \"q\"}"),
        ["`plan` is written twice, with different values: keep one"]
    );
}

/// In JSON `3` and `"3"` are two values: that one was taken for the other is on record.
#[test]
fn number_read_as_text_is_reported() {
    let read = |raw, schema| match json_in(raw, &schema) {
        Extraction::Found(found) => (found.value, found.fixes),
        Extraction::Failed(failure) => panic!("{failure:#?}"),
    };
    let text =
        json!({"type": "object", "properties": {"n": {"type": "string"}, "m": {"type": "string"}}, "required": ["n"]});
    let fixes = |fixes: &[&str]| fixes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        read("{\"n\": 3, \"m\": true}", text.clone()),
        (json!({"n": "3", "m": "true"}), fixes(&["`n`: read `3` as \"3\"", "`m`: read `true` as \"true\""]))
    );
    assert_eq!(read("{\"n\": \"3\"}", text), (json!({"n": "3"}), fixes(&[])));
    let word = json!({"type": "object", "properties": {"n": {"enum": ["3", "4"]}}, "required": ["n"]});
    assert_eq!(read("{\"n\": 3}", word), (json!({"n": "3"}), fixes(&["`n`: read `3` as \"3\""])));
}
