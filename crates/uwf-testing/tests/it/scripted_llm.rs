//! The scripted provider as a program, and scripts as files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::llm_server::LlmScript;

use crate::llm_server::{Caller, parsed};

#[test]
fn program_serves_script_until_stdin_closes() {
    let dir = TempDir::new().unwrap();
    let (script, log) = (dir.path().join("script.json"), dir.path().join("requests.jsonl"));
    let text = json!({
        "models": ["tiny"],
        "refuse": ["json_schema"],
        "answers": [
            "plain",
            { "text": "with a call", "calls": [{ "name": "submit", "arguments": { "n": 1 } }, { "name": "x", "arguments": "{" }] },
            { "status": 429, "message": "slow down", "headers": { "retry-after": 1 } },
            { "body": "<html>", "contentType": "text/html", "repeat": true }
        ]
    });
    fs::write(&script, text.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-llm"))
        .args([&script, &log])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut base = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut base).unwrap();
    assert!(base.starts_with("http://127.0.0.1:") && base.ends_with("/v1\n"), "{base}");
    let mut caller = Caller::new(base.trim());
    let mut ask = |body: Value| caller.post("/v1/chat/completions", &body);
    assert_eq!(parsed(ask(json!({ "n": 1 })))["choices"][0]["message"]["content"], "plain");
    assert_eq!(ask(json!({ "response_format": { "type": "json_schema" } })).0, 400);
    let calls = parsed(ask(json!({})))["choices"][0]["message"]["tool_calls"].clone();
    assert_eq!(
        (&calls[0]["function"]["arguments"], &calls[1]["function"]["arguments"]),
        (&json!("{\"n\":1}"), &json!("{"))
    );
    assert_eq!(ask(json!({})).0, 429);
    assert_eq!(ask(json!({})), (200, "<html>".to_owned()));
    assert_eq!(ask(json!({})), (200, "<html>".to_owned()));
    assert_eq!(parsed(caller.get("/v1/models"))["data"][0]["id"], "tiny");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let first: Value = serde_json::from_str(fs::read_to_string(&log).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((&first["path"], &first["body"]), (&json!("/v1/chat/completions"), &json!({ "n": 1 })));
}

#[test]
fn invalid_script_is_rejected_with_position() {
    let problem = |text: &str| LlmScript::from_json(text).err().unwrap();
    assert_eq!(problem("3"), "a script is a list of answers, or an object with a list `answers`");
    assert_eq!(problem(r#"["a", {"txt": "b"}]"#), "answer 2: unknown key `txt`");
    assert_eq!(problem(r#"[{"calls": [{}]}]"#), "answer 1: a call has no `name`");
    assert_eq!(problem(r#"[{"status": 7}]"#), "answer 1: 7 is not an HTTP status");
    assert_eq!(problem("[7]"), "answer 1: 7 is neither a text nor an object");
    assert!(problem("[").contains("line 1"), "{}", problem("["));
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-llm")).arg("/no/such/script.json").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read /no/such/script.json"));
}
