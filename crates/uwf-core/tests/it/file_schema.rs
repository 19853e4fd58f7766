//! The schemas refuse what the readers refuse for its shape, and accept everything else. Each file that a test of this
//! crate reads is held against both.

use std::sync::LazyLock;

use json_cas::CompiledSchema;
use serde_json::{Value, json};
use uwf_core::agent_name::AgentName;
use uwf_core::config::UwfConfig;
use uwf_core::document::{FileProblem, SourceDocument};
use uwf_core::event::{EventToolCall, OutputStream, ThreadEvent, ThreadEventKind, VERSION};
use uwf_core::file_schema;
use uwf_core::node::TokenCounts;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::workflow::check;
use uwf_testing::FuzzTarget;

use crate::any_bytes::{config_file, workflow_file};

static CONFIG: LazyLock<CompiledSchema> = LazyLock::new(|| compiled(&file_schema::config()));
static WORKFLOW: LazyLock<CompiledSchema> = LazyLock::new(|| compiled(&file_schema::workflow()));

fn compiled(schema: &Value) -> CompiledSchema {
    CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{error}"))
}

/// Problems that a schema sees.
const OF_SHAPE: [&str; 7] =
    ["wrong-type", "bad-value", "missing-key", "unknown-key", "bad-name", "reserved-name", "not-a-variable"];

/// Problems beyond which nothing can be compared: the text is read in another way, or not at all.
const OF_THE_TEXT: [&str; 6] = ["bad-number", "tag", "duplicate-key", "bad-merge", "too-many-problems", "conflict"];

/// Holds a configuration against its schema.
#[track_caller]
pub(crate) fn agrees_on_config(text: &str, problems: &[FileProblem]) {
    agrees(&CONFIG, text, problems);
}

/// Holds a workflow file against its schema.
#[track_caller]
pub(crate) fn agrees_on_workflow(text: &str, problems: &[FileProblem]) {
    agrees(&WORKFLOW, text, problems);
}

#[track_caller]
fn agrees(schema: &CompiledSchema, text: &str, problems: &[FileProblem]) {
    let Ok(SourceDocument { value, .. }) = SourceDocument::parse(text, "f.yaml") else { return };
    if problems.iter().any(|problem| OF_THE_TEXT.contains(&problem.code)) || has_odd_numbers(&value) {
        return;
    }
    let refused = schema.violations(&value);
    let told: Vec<String> =
        problems.iter().filter(|problem| OF_SHAPE.contains(&problem.code)).map(ToString::to_string).collect();
    // What a schema of an output holds is seen in part only.
    if told.is_empty() && problems.iter().any(|problem| problem.code == "bad-schema") {
        return;
    }
    assert_eq!(told.is_empty(), refused.is_empty(), "the reader: {told:#?}\nthe schema: {refused:#?}\n{text}");
}

/// Numbers that are whole for a schema and not as they are written, or too large for the reader: `3.0`, `1e400`.
fn has_odd_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_none_or(|float| !float.is_finite() || float.abs() > 1e15 || number.is_f64() && float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_odd_numbers),
        Value::Object(map) => map.values().any(has_odd_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[test]
fn reader_and_schema_agree_on_any_configuration() {
    let check = |bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        agrees_on_config(text, &UwfConfig::parse(text, "config.yaml").1);
    };
    FuzzTarget { check, name: "schema of config.yaml", ..config_file::SUBJECT }.feed(600);
}

#[test]
fn reader_and_schema_agree_on_any_workflow_file() {
    let check = |bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        agrees_on_workflow(text, &check(text, "w.yaml", None).problems);
    };
    FuzzTarget { check, name: "schema of workflow files", ..workflow_file::SUBJECT }.feed(600);
}

#[test]
fn each_event_is_as_its_schema_says() {
    let schema = file_schema::events();
    let compiled = compiled(&schema);
    let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    let (attempt, role) = ("a1".to_owned(), "coder".to_owned());
    let hash = json_cas::NodeHash::from_u64(7);
    let call =
        EventToolCall { name: "t".to_owned(), arguments: "{}".to_owned(), result: String::new(), duration_ms: 3 };
    let tokens = TokenCounts {
        input: Some(1),
        output: None,
        cached: Some(1),
        cache_write: Some(1),
        reasoning: Some(2),
        cost: Some(0.1),
    };
    let step = Step {
        alias: Some("c".to_owned()),
        extracted_by: Some("submit".to_owned()),
        ..Step::new(1, "coder", json!({ "n": 1 }))
    };
    let whats = [
        ThreadEventKind::Thread { workflow: "w".to_owned(), prompt: "p".to_owned() },
        ThreadEventKind::Attempt {
            attempt: attempt.clone(),
            role: role.clone(),
            agent: AgentName { alias: Some("c".to_owned()), agent: "uwf-c".to_owned() },
            pid: Some(1),
        },
        ThreadEventKind::Turn {
            attempt: attempt.clone(),
            turn: 1,
            text: "t".to_owned(),
            tool_calls: vec![call],
            tokens: Some(tokens),
            done: true,
        },
        ThreadEventKind::Output { attempt: attempt.clone(), stream: OutputStream::Stderr, text: "t".to_owned() },
        ThreadEventKind::Failed {
            attempt,
            role,
            error: "e".to_owned(),
            node: Some(hash),
            denied: vec!["Bash(ls)".to_owned()],
        },
        ThreadEventKind::Step(Box::new(step)),
        ThreadEventKind::State { state: "limited".to_owned(), why: Some("w".to_owned()), until: Some(1) },
        ThreadEventKind::End {
            status: "completed".to_owned(),
            reason: Some("r".to_owned()),
            outcome: Some("failed".to_owned()),
            condition: Some("tired".to_owned()),
        },
    ];
    let branches = schema["allOf"].as_array().unwrap();
    assert_eq!(branches.len(), whats.len());
    for (what, branch) in whats.into_iter().zip(branches) {
        let event = ThreadEvent {
            v: VERSION,
            thread: thread.clone(),
            depth: 0,
            branch: Some("g.b".to_owned()),
            within: None,
            at: 5,
            what,
        };
        let value = serde_json::to_value(&event).unwrap();
        assert_eq!(compiled.violations(&value), [], "{value}");
        assert_eq!(branch["if"]["properties"]["event"]["const"], value["event"]);
        // Every field is described, and none is required that an event may lack.
        let described = |key: &String| {
            let of =
                |schema: &Value| schema["properties"].get(key).is_some_and(|field| field["description"].is_string());
            of(&schema) || of(&branch["then"])
        };
        let undescribed: Vec<&String> = value.as_object().unwrap().keys().filter(|key| !described(key)).collect();
        assert_eq!(undescribed, Vec::<&String>::new(), "{value}");
        for key in branch["then"]["required"].as_array().unwrap() {
            let mut lacking = value.clone();
            lacking.as_object_mut().unwrap().shift_remove(key.as_str().unwrap());
            assert!(serde_json::from_value::<ThreadEvent>(lacking.clone()).is_err() || key == "text", "{lacking}");
            assert_ne!(compiled.violations(&lacking), [], "{lacking}");
        }
    }
    assert_eq!(
        compiled.violations(&json!({ "v": 1, "thread": thread, "depth": 0, "at": 1, "event": "new", "x": 1 })),
        []
    );
}
