//! The cursor agent with a scripted `cursor-agent`, which prints events of the documented shapes.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::text::json_lines;
use crate::home;

/// A `cursor-agent` that notes its arguments. Its answers come one a call from `answers.json`.
const CURSOR: &str = r#"#!/usr/bin/env python3
import json, os, sys

root = os.environ["UNCAGED_WORKFLOW_STORAGE_ROOT"]
args = sys.argv[1:]
calls = os.path.join(root, "calls.jsonl")
before = len(open(calls).readlines()) if os.path.exists(calls) else 0
prompt = args[args.index("-p") + 1]
if prompt.startswith("Read the whole file"):
    prompt = open(prompt.rsplit(" ", 1)[1]).read()
with open(calls, "a") as file:
    file.write(json.dumps({"args": args, "cwd": os.getcwd(), "read": len(prompt)}) + "\n")
answer = json.load(open(os.path.join(root, "answers.json")))[before]
if args[args.index("--output-format") + 1] == "text":
    print(answer)
    sys.exit(0)

def say(**event):
    print(json.dumps({**event, "session_id": chat}), flush=True)

chat = answer.get("chat", "c6b62c6f-7ead-4fd6-9922-e952131177ff")
print("Workspace trusted: " + os.getcwd())
say(type="system", subtype="init", apiKeySource="login", cwd=os.getcwd(), model="Big 1", permissionMode="default")
say(type="user", message={"role": "user", "content": [{"type": "text", "text": prompt}]})
say(type="thinking", subtype="delta", text="hm")
say(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": "I will read it."}]})
read = {"args": {"path": "a.txt"}}
say(type="tool_call", subtype="started", call_id="t1", tool_call={"readToolCall": read}, timestamp_ms=1795313873000)
read = {**read, "result": {"success": {"content": "one line"}}}
say(type="tool_call", subtype="completed", call_id="t1", tool_call={"readToolCall": read}, timestamp_ms=1795313873040)
if "error" in answer:
    say(type="result", subtype="error", is_error=True, duration_ms=10, result=answer["error"])
    sys.exit(1)
say(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": answer["text"]}]})
say(type="result", subtype="success", is_error=False, duration_ms=10, duration_api_ms=10, result="I will read it." + answer["text"])
"#;

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// A home with the scripted cursor-agent, the counting workflow, and a thread with this task.
fn with_cursor(settings: &str, answers: &Value, task: &str) -> (TestHome, String) {
    let home = home();
    home.script("cursor-agent", CURSOR);
    fs::write(home.root().join("answers.json"), answers.to_string()).unwrap();
    home.config(&format!(
        "agents:\n  c: {{ command: uwf-cursor, model: gpt-5, args: [--approve-mcps], config: {settings} }}\ndefaultAgent: c\npromptBudget: 400000\n"
    ));
    let thread = home.start_counting(1, task);
    (home, thread)
}

fn calls(home: &TestHome) -> Vec<Value> {
    json_lines(home.root().join("calls.jsonl"))
}

fn args(call: &Value) -> Vec<&str> {
    call["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
fn reported_model_is_that_of_the_run() {
    let (home, thread) = with_cursor("{}", &json!([{ "text": RIGHT }]), "count");
    home.config("agents: { c: { command: uwf-cursor } }\ndefaultAgent: c\n");
    home.json(&["thread", "step", &thread]);
    let costs = home.json(&["thread", "cost", &thread, "--by", "model"]);
    assert_eq!(costs["rows"][0]["name"], "Big 1", "{costs}");
}

#[test]
fn events_give_turns_and_last_message_gives_answer() {
    let (home, thread) = with_cursor("{}", &json!([{ "text": RIGHT }]), "count");
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    let told = ["sessionId", "source", "extractedBy", "raw", "tokens"].map(|key| detail[key].clone());
    let chat = json!("c6b62c6f-7ead-4fd6-9922-e952131177ff");
    assert_eq!(told, [chat, json!("stdout"), json!("frontmatter"), json!(RIGHT), Value::Null]);
    let turns = detail["turns"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[0]["output"], &turns[1]["output"]), (2, &json!("I will read it."), &json!(RIGHT)));
    let call = ["name", "arguments", "result", "durationMs"].map(|key| turns[0]["toolCalls"][0][key].clone());
    let result = r#"{"success":{"content":"one line"}}"#;
    assert_eq!(call, [json!("read"), json!(r#"{"path":"a.txt"}"#), json!(result), json!(40)]);
    let work = fs::canonicalize(home.work()).unwrap();
    let calls = calls(&home);
    let given = args(&calls[0]);
    assert_eq!(given[0], "-p");
    let work = work.to_str().unwrap();
    let rest = [
        "--model",
        "gpt-5",
        "--workspace",
        work,
        "--output-format",
        "stream-json",
        "--trust",
        "--force",
        "--approve-mcps",
    ];
    assert_eq!(given[2..], rest);
    assert_eq!(calls[0]["cwd"], json!(work));
}

#[test]
fn a_plain_text_is_an_answer_too() {
    let (home, thread) = with_cursor("{ outputFormat: text, model: sonnet }", &json!([RIGHT]), "count");
    home.json(&["thread", "step", &thread]);
    let detail = home.last_detail(&thread);
    assert_eq!((&detail["raw"], &detail["sessionId"]), (&json!(format!("{RIGHT}\n")), &Value::Null));
    let calls = calls(&home);
    let given = args(&calls[0]);
    assert_eq!(given[2..4], ["--model", "sonnet"]);
    assert!(given.windows(2).any(|pair| pair == ["--output-format", "text"]), "{given:?}");
}

#[test]
fn feedback_goes_to_the_same_chat() {
    let (home, thread) = with_cursor("{}", &json!([{ "text": "One line." }, { "text": RIGHT }]), "count");
    home.json(&["thread", "step", &thread]);
    let told = home.last_detail(&thread);
    assert_eq!((&told["extractedBy"], &told["raw"]), (&json!("feedback"), &json!("One line.")));
    let calls = calls(&home);
    let given = args(&calls[1]);
    assert!(given.windows(2).any(|pair| pair == ["--resume", "c6b62c6f-7ead-4fd6-9922-e952131177ff"]), "{given:?}");
    assert!(given[1].contains("Do not do the work again"), "{}", given[1]);

    let other = json!([{ "text": "One line." }, { "text": RIGHT, "chat": "another" }]);
    let (home, thread) = with_cursor("{}", &other, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41), "an answer in another chat is none");
}

#[test]
fn long_prompt_is_read_from_file() {
    let task = format!("count {}", "x".repeat(200_000));
    let home = home();
    home.script("cursor-agent", CURSOR);
    fs::write(home.root().join("answers.json"), json!([{ "text": RIGHT }]).to_string()).unwrap();
    home.config("agents:\n  c: { command: uwf-cursor }\ndefaultAgent: c\npromptBudget: 400000\n");
    home.put("count-rounds", &counting_workflow(1));
    let file = home.file("task.md", &task);
    let mut start = home.command(&["thread", "start", "count-rounds", "-p", "-"]);
    let started = start.stdin(fs::File::open(file).unwrap()).output().unwrap();
    let thread = text(&serde_json::from_slice(&started.stdout).unwrap(), "thread");
    home.json(&["thread", "step", &thread]);
    let calls = calls(&home);
    assert!(args(&calls[0])[1].len() < 1000);
    assert!(calls[0]["read"].as_u64().unwrap() > 200_000);
}

#[test]
fn an_error_event_is_the_reason() {
    let (home, thread) = with_cursor("{}", &json!([{ "error": "You are not signed in" }]), "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(text(&shown, "why"), "agent `c` exited with 1: You are not signed in");
    let attempt = home.json(&["cas", "get", &text(&shown, "attempt")])["payload"].clone();
    let kept = home.json(&["cas", "get", &text(&attempt, "raw")]);
    assert!(text(&kept["payload"], "text").contains("I will read it."), "what was done is kept");
}

const CLONING: &str = "\
name: clone-first
description: One clones, one works where it was cloned.
roles:
  cloner:
    description: Clones.
    goal: You clone.
    capabilities: []
    procedure: Clone.
    output: Where it is.
    meta: { type: object, properties: { repoPath: { type: string } }, required: [repoPath] }
  worker:
    description: Works.
    goal: You count.
    capabilities: []
    procedure: Count.
    output: The count.
    meta: { type: object, properties: { n: { type: integer } }, required: [n] }
graph:
  $START: [ { role: cloner } ]
  cloner: [ { role: worker }, ]
  worker: [ { role: $END } ]
";

#[test]
fn directory_of_earlier_step_overrides_task_directory() {
    let (home, _) = with_cursor("{ workspace: context }", &json!([{ "text": RIGHT }]), "count");
    home.script("clone", "#!/bin/sh\nmkdir -p cloned named\necho '{\"repoPath\": \"cloned\"}'\n");
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let config = config.replace("agents:\n", "agents:\n  s: { command: clone, output: json }\n");
    home.config(&format!("{config}agentOverrides: {{ clone-first: {{ cloner: s }} }}\n"));
    home.put("clone-first", CLONING);
    let thread = home.start("clone-first", &json!({ "prompt": "count", "repoPath": "named" }).to_string());
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let cloned = fs::canonicalize(home.work().join("cloned")).unwrap();
    assert_eq!(calls(&home)[0]["cwd"], json!(cloned));
}

#[test]
fn directory_comes_from_settings_or_prompt() {
    let cases = [
        ("{ workspace: sub }", "count".to_owned()),
        ("{ workspace: context }", json!({ "prompt": "count", "repoPath": "sub" }).to_string()),
        ("{ workspace: context }", "count in <work>/sub, please".to_owned()),
    ];
    for (settings, task) in cases {
        let (home, _) = with_cursor(settings, &json!([{ "text": RIGHT }]), "count");
        let work = fs::canonicalize(home.work()).unwrap();
        fs::create_dir(work.join("sub")).unwrap();
        let thread = home.start("count-rounds", &task.replace("<work>", work.to_str().unwrap()));
        home.json(&["thread", "step", &thread]);
        let sub = work.join("sub");
        let calls = calls(&home);
        assert!(args(&calls[0]).windows(2).any(|pair| pair == ["--workspace", sub.to_str().unwrap()]), "{settings}");
        assert_eq!(calls[0]["cwd"], json!(sub));
    }
    let (home, thread) = with_cursor("{ workspace: context }", &json!([]), "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert_eq!(why, "neither the thread's outputs nor its task name a directory to work in");
}
