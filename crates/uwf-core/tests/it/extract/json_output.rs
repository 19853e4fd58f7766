//! The rung for commands that print JSON.

use super::*;

fn json_in(raw: &str, schema: &Value) -> Extraction {
    json_rung(raw, &Schema::compile(schema).expect("a valid schema"))
}

fn value(raw: &str) -> Value {
    match json_in(raw, &task_schema()) {
        Extraction::Found(found) => found.value,
        Extraction::Failed(failure) => panic!("no JSON in {raw:?}: {failure:#?}"),
    }
}

#[test]
fn the_whole_output() {
    let extraction = json_in("{\"status\": \"done\", \"plan\": \"p\", \"more\": 1}\n", &task_schema());
    let value = json!({"status": "done", "plan": "p", "more": 1});
    assert_eq!(extraction, Extraction::Found(Found { value, extras: Map::new(), fixes: vec![], body: String::new() }));
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
fn the_last_valid_one_counts() {
    assert_eq!(
        value("{\"status\": \"failed\", \"plan\": \"x\"}\n{\"status\": \"done\", \"plan\": \"p\"}\n{\"a\": 1}"),
        done()
    );
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
    assert_eq!(errors(""), ["the output is empty"]);
    assert_eq!(errors("all fine"), ["the output is not JSON"]);
    assert_eq!(
        errors("{\"status\": \"done\", \"plan\": \"p\", \"plan\": \"q\"}"),
        ["`plan` is written twice, with different values: keep one"]
    );
}
