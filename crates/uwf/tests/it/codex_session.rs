//! The session file of codex: tokens while it works, its model, and the tokens of a run that continued a session.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

/// A codex that writes its session file, and counts all tokens of its session as the real one does. It ends once the file `go` exists.
const CODEX: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
cat > /dev/null
id=01a2010b-cccc
mkdir -p "$CODEX_HOME/sessions/2026/11/22"
file=$CODEX_HOME/sessions/2026/11/22/rollout-2026-11-22T02-17-52-$id.jsonl
before=$(cat visits 2> /dev/null || echo 0)
note() { printf '{"timestamp":"2026-11-22T02:17:53.000Z",%s}\n' "$1" >> "$file"; }
count() { note "\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":$1,\"cached_input_tokens\":0,\"output_tokens\":$2}}}"; }
say() { printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"%s"}}\n' "$1"; }
printf '{"type":"thread.started","thread_id":"%s"}\n{"type":"turn.started"}\n' $id
note '"type":"turn_context","payload":{"model":"gpt-x"}'
say Counting.
count $((before * 100 + 40)) $((before * 10 + 4))
while [ ! -e go ] && [ -e "$file" ]; do sleep 0.1; done
count $((before * 100 + 100)) $((before * 10 + 10))
say '---\nn: 1\n---\nDone.'
printf '{"type":"turn.completed","usage":{"input_tokens":%s,"output_tokens":%s}}\n' $((before * 100 + 100)) $((before * 10 + 10))
echo $((before + 1)) > visits
"#;

fn with_codex() -> (TestHome, String) {
    let home = home();
    home.script("codex", CODEX);
    home.config(
        "agents:\n  c: { command: codex, args: [exec, --json, '-'], output: text, config: { trace: codex, resume: true } }\n\
         defaultAgent: c\nprices: { date: 2026-11-01, models: { gpt-x: { input: 1000, output: 1000 } } }\n",
    );
    fs::write(home.root().join(".env"), format!("CODEX_HOME={}\n", home.work().join("codex").display())).unwrap();
    home.put("count-rounds", &counting_workflow(2));
    let thread = home.start("count-rounds", "count");
    (home, thread)
}

/// The tokens that `ps` shows of the only running step.
fn shown_tokens(home: &TestHome) -> Value {
    home.json(&["thread", "ps"]).pointer("/0/tokens").cloned().unwrap_or_default()
}

/// Plays a role, and gives the tokens that `ps` shows while codex works.
fn step(home: &TestHome, thread: &str) -> Value {
    let go = home.work().join("go");
    let _ = fs::remove_file(&go);
    let mut step = home.command(&["thread", "step", thread]).stdout(Stdio::null()).spawn().unwrap();
    let mut tokens = Value::Null;
    until("`ps` shows tokens", || {
        tokens = shown_tokens(home);
        !tokens.is_null()
    });
    fs::write(go, "").unwrap();
    assert!(step.wait().unwrap().success());
    json!([tokens["input"], tokens["output"]])
}

#[test]
fn tokens_of_codex_are_known_while_it_works() {
    let (home, thread) = with_codex();
    for _ in 0..2 {
        assert_eq!(step(&home, &thread), json!([40, 4]), "the tokens of this run");
        let detail = home.last_detail(&thread);
        assert_eq!(json!([detail["tokens"]["input"], detail["tokens"]["output"]]), json!([100, 10]), "{detail}");
    }
    let costs = home.json(&["thread", "cost", &thread, "--by", "model"]);
    let row = &costs["rows"][0];
    assert_eq!((&row["name"], &row["costUnknown"]), (&json!("gpt-x"), &json!(0)), "{costs}");
    assert_eq!(row["cost"][0]["amount"], json!(0.22), "{costs}");
}

#[test]
fn killed_codex_has_its_tokens_so_far() {
    let (home, thread) = with_codex();
    let mut step = home.command(&["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
    until("`ps` shows tokens", || !shown_tokens(&home).is_null());
    home.json(&["thread", "kill", &thread]);
    step.wait().unwrap();
    let costs = home.json(&["thread", "cost", &thread, "--by", "model"]);
    assert_eq!(
        (&costs["rows"][0]["name"], &costs["total"]["tokens"]["input"]),
        (&json!("gpt-x"), &json!(40)),
        "{costs}"
    );
}
