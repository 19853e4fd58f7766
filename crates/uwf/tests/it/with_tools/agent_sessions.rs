//! Agents that continue in their session of an earlier visit are shown only what is new; all others are shown everything.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{SCRIPTED_ACP, TestHome, failed_attempts, text};

use crate::fixtures::text::json_lines;
use crate::home;

/// A writer and a reviewer who is never content.
const ENDLESS: &str = "name: endless\ndescription: never done\nroles:\n  writer:\n    goal: Write.\n    meta: { type: object, properties: { title: { type: string } }, required: [title] }\n  reviewer:\n    goal: Review.\n    meta: { type: object, properties: { wrong: { type: string } }, required: [wrong] }\ngraph:\n  $START: [ { role: writer } ]\n  writer: [ { role: reviewer } ]\n  reviewer: [ { role: writer } ]\n";

/// A codex that keeps no session but says that it does, as the files beside it want it.
const CODEX: &str = r#"#!/usr/bin/env python3
import json, os, sys
args, prompt = sys.argv[1:], sys.stdin.read()
with open("calls.jsonl", "a") as calls:
    calls.write(json.dumps({"args": args, "prompt": prompt}) + "\n")
number = len(open("calls.jsonl").readlines())
session = f"t-{number}"
if "resume" in args or "--resume" in args:
    session = args[args.index("resume" if "resume" in args else "--resume") + 1]
    if os.path.exists("gone"):
        sys.exit("Error: no rollout found for thread id " + session)
    if os.path.exists("named"):
        print(json.dumps({"type": "thread.started", "thread_id": session}))
        sys.exit("No conversation found with session ID: " + session)
    if os.path.exists("elsewhere"):
        session = "t-other"
say = lambda event: print(json.dumps(event))
say({"type": "thread.started", "thread_id": session})
if os.path.exists("hangs") and "resume" not in args:
    import time
    time.sleep(60)
if os.path.exists("fails") or os.path.exists("new-fails") and "resume" not in args:
    say({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "I begin."}})
    say({"type": "turn.failed", "error": {"message": "the provider is down"}})
    sys.exit(1)
say({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": f"---\ntitle: Draft {number}\n---\nText of draft {number}."}})
say({"type": "turn.completed", "usage": {"input_tokens": 111 * number, "cached_input_tokens": 0, "output_tokens": 1}})
"#;

const REVIEWER: &str = "#!/bin/sh\ncat > /dev/null\necho '{\"wrong\": \"no cats in it\"}'\n";

/// A home whose writer is this agent.
fn with_writer(agent: &str) -> TestHome {
    let home = home();
    home.script("codex", CODEX);
    home.script("reviewer", REVIEWER);
    home.config(&format!(
        "agents:\n  w: {{ {agent} }}\n  r: {{ command: reviewer, output: json }}\ndefaultAgent: w\nagentOverrides: {{ endless: {{ reviewer: r }} }}\n"
    ));
    home.put("endless", ENDLESS);
    home
}

fn codex(config: &str) -> String {
    format!("command: codex, args: [exec, --json, \"-\"], output: text, config: {{ trace: codex{config} }}")
}

/// A thread whose writer must write again.
fn rejected(home: &TestHome) -> String {
    let thread = home.start("endless", "Write about animals.");
    step(home, &thread);
    step(home, &thread);
    thread
}

fn step(home: &TestHome, thread: &str) {
    home.json(&["thread", "step", thread]);
}

fn calls(home: &TestHome) -> Vec<Value> {
    json_lines(home.work().join("calls.jsonl"))
}

fn detail(home: &TestHome, thread: &str) -> Value {
    let head = home.head(thread).unwrap();
    home.json(&["thread", "step-details", &head, "--format", "json"])["detail"].clone()
}

/// Whether a prompt holds the history, not only what is new.
fn is_whole(prompt: &str) -> bool {
    let has_draft = prompt.contains("Text of draft 1.");
    assert_eq!(has_draft, prompt.contains("is your own last answer"), "{prompt}");
    assert_eq!(has_draft, !prompt.contains("You are back in your earlier session"), "{prompt}");
    assert!(prompt.contains("no cats in it"), "{prompt}");
    has_draft
}

#[test]
fn codex_goes_on_in_its_session() {
    let home = with_writer(&codex(", resume: true"));
    let thread = rejected(&home);
    let dry = home.json(&["thread", "step", &thread, "--dry-run"]);
    step(&home, &thread);
    let calls = calls(&home);
    assert_eq!(calls[1]["args"], json!(["exec", "--json", "resume", "t-1", "-"]));
    assert!(!is_whole(&text(&calls[1], "prompt")));
    assert_eq!((&dry["session"], &dry["prompt"]), (&json!("t-1"), &calls[1]["prompt"]), "a dry run shows it");
    let detail = detail(&home, &thread);
    assert_eq!(json!([detail["resumed"], detail["sessionId"]]), json!([true, "t-1"]));
    assert_eq!(detail["tokens"], json!(null), "what it counts is not of this visit alone");
    // And on, from a visit that was resumed itself.
    step(&home, &thread);
    step(&home, &thread);
    assert_eq!(self::calls(&home)[2]["args"], json!(["exec", "--json", "resume", "t-1", "-"]));
}

#[test]
fn sessions_resume_only_if_configured() {
    let home = with_writer(&codex(""));
    let thread = rejected(&home);
    step(&home, &thread);
    let calls = calls(&home);
    assert_eq!(calls[1]["args"], json!(["exec", "--json", "-"]));
    assert!(is_whole(&text(&calls[1], "prompt")));
    assert_eq!(detail(&home, &thread)["resumed"], json!(null));
}

/// The first run was made in another session than it was to continue in. It was paid for, whatever becomes of the second one.
#[test]
fn abandoned_session_is_charged_if_successor_fails() {
    for how in ["new-fails", "hangs"] {
        let home = with_writer(&format!("{}, timeout: 3s", codex(", resume: true")));
        let thread = rejected(&home);
        let before = home.json(&["thread", "cost", &thread])["total"].take();
        assert_eq!(before["tokens"]["input"], 111);
        for file in ["elsewhere", how] {
            home.file(file, "");
        }
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40), "{how}");
        assert_eq!(calls(&home).len(), 3);
        let total = home.json(&["thread", "cost", &thread])["total"].take();
        assert_eq!(total["tokens"]["input"], 111 + 222, "{how}");
        let used = home.json(&["thread", "limit", &thread])["used"].take();
        assert_eq!(used["tokens"], 111 + 1 + 222 + 1, "{how}");
        fs::remove_file(home.work().join(how)).unwrap();
        fs::remove_file(home.work().join("elsewhere")).unwrap();
        step(&home, &thread);
        let outputs = detail(&home, &thread)["attempts"].to_string();
        assert_eq!(outputs.matches("Text of draft 2.").count(), 1, "{how}: {outputs}");
    }
}

/// A second run that also answers without a header is recorded with the first one.
#[test]
fn unreadable_answer_counts_abandoned_session_once() {
    let home = with_writer(&codex(", resume: true"));
    let thread = rejected(&home);
    let script = CODEX.replace("title: Draft {number}", "name: Draft {number}");
    home.script("codex", &script);
    home.file("elsewhere", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    let total = home.json(&["thread", "cost", &thread])["total"].take();
    assert_eq!(total["tokens"]["input"], 111 + 222 + 333);
}

#[test]
fn a_session_that_is_gone_is_no_failure() {
    for how in ["gone", "named", "elsewhere"] {
        let home = with_writer(&codex(", resume: true"));
        let thread = rejected(&home);
        home.file(how, "");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(0), "{how}: {}", ran.stderr);
        let calls = calls(&home);
        assert!(calls.len() == 3 && !is_whole(&text(&calls[1], "prompt")) && is_whole(&text(&calls[2], "prompt")));
        assert_eq!(calls[2]["args"], json!(["exec", "--json", "-"]));
        let detail = detail(&home, &thread);
        assert_eq!(json!([detail["resumed"], detail["sessionId"], failed_attempts(&detail)]), json!([null, "t-3", 0]));
        // What was paid for in another session is on record, and is not the answer.
        let outputs: Vec<&str> =
            detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect();
        let drafts: Vec<bool> =
            ["draft 2.", "draft 3."].map(|draft| outputs.iter().any(|said| said.contains(draft))).into();
        assert_eq!(drafts, [how == "elsewhere", true], "{outputs:?}");
        assert_eq!(detail["raw"], "---\ntitle: Draft 3\n---\nText of draft 3.");
        assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    }
}

#[test]
fn fork_does_not_continue_source_session() {
    let home = with_writer(&codex(", resume: true"));
    let thread = rejected(&home);
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    step(&home, &thread);
    step(&home, &fork);
    let told: Vec<bool> = calls(&home)[1..].iter().map(|call| is_whole(&text(call, "prompt"))).collect();
    assert_eq!(told, [false, true]);
    let own = text(&detail(&home, &fork), "sessionId");
    step(&home, &fork);
    step(&home, &fork);
    let last = calls(&home).pop().unwrap();
    assert_eq!(last["args"], json!(["exec", "--json", "resume", own, "-"]), "its own it does go on in");
}

#[test]
fn failed_attempt_starts_new_session() {
    let home = with_writer(&codex(", resume: true"));
    let thread = rejected(&home);
    home.file("fails", "");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "its session was there, so this is a failure");
    assert!(ran.stderr.contains("the provider is down"), "{}", ran.stderr);
    fs::remove_file(home.work().join("fails")).unwrap();
    step(&home, &thread);
    let calls = calls(&home);
    assert_eq!(calls.len(), 3);
    assert!(is_whole(&text(&calls[2], "prompt")));
    assert_eq!(detail(&home, &thread)["resumed"], json!(null));
}

#[test]
fn other_agent_does_not_continue_session() {
    let home = with_writer(&codex(", resume: true"));
    let thread = rejected(&home);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("--json", "--json, --oss"));
    step(&home, &thread);
    assert!(is_whole(&text(&calls(&home)[1], "prompt")));
}

#[test]
fn other_programs_say_how_they_go_on() {
    let args = ", resume: true, resumeArgs: [exec, --resume, \"{session}\", --for, \"{role}\"]";
    let home = with_writer(&codex(args));
    let thread = rejected(&home);
    step(&home, &thread);
    assert_eq!(calls(&home)[1]["args"], json!(["exec", "--resume", "t-1", "--for", "writer"]));

    for (config, why) in [
        ("config: { resume: true }", "uwf finds the id of a session only if `config.trace`"),
        ("config: { resume: true, trace: gemini }", "`config.resumeArgs`"),
        ("config: { resume: true, trace: codex, resumeArgs: [on] }", "`config.resumeArgs`"),
    ] {
        let home = with_writer(&format!("command: codex, output: text, {config}"));
        let thread = home.start("endless", "Write.");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(78), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

/// A home whose writer speaks ACP, with a thread whose writer must write again.
fn with_acp(settings: &str, second: &Value) -> (TestHome, String) {
    let home = with_writer(&format!("command: uwf-acp, args: [scripted-acp], config: {{ {settings} }}"));
    home.script("scripted-acp", SCRIPTED_ACP);
    let first = json!([[{ "text": "---\ntitle: Draft 1\n---\nText of draft 1." }]]);
    home.file("acp.json", &json!({ "prompts": first }).to_string());
    let thread = rejected(&home);
    let mut script = second.clone();
    script["prompts"] = json!([[{ "text": "---\ntitle: Draft 2\n---\nText of draft 2." }]]);
    script["new"] = json!({ "sessionId": "s-2" });
    home.file("acp.json", &script.to_string());
    fs::remove_file(home.work().join("heard.jsonl")).unwrap();
    (home, thread)
}

/// What the agent was asked at the second visit, and its prompt.
fn asked(home: &TestHome) -> (Vec<String>, String) {
    let heard = json_lines(home.work().join("heard.jsonl"));
    let methods = heard.iter().map(|message| text(message, "method").replace("session/", "")).collect();
    let prompt = heard.iter().find(|message| message["method"] == "session/prompt").unwrap();
    (methods, text(&prompt["params"]["prompt"][0], "text"))
}

#[test]
fn an_agent_loads_its_session_over_acp() {
    let replay = json!([{ "text": "---\ntitle: Old\n---\nText of old." }]);
    let can = json!({ "initialize": { "agentCapabilities": { "loadSession": true } }, "replay": replay });
    let (home, thread) = with_acp("", &can);
    step(&home, &thread);
    let (methods, prompt) = asked(&home);
    assert_eq!(methods, ["initialize", "load", "prompt"]);
    assert!(!is_whole(&prompt));
    let detail = detail(&home, &thread);
    assert_eq!(json!([detail["resumed"], detail["sessionId"]]), json!([true, "s-1"]));
    assert_eq!(
        detail["raw"], "---\ntitle: Draft 2\n---\nText of draft 2.",
        "what it tells of before is not its answer"
    );
}

#[test]
fn unloadable_session_restarts_with_full_prompt() {
    let can = json!({ "agentCapabilities": { "loadSession": true } });
    let error = json!({ "code": -32002, "message": "session s-1 was not found" });
    let cases = [
        ("", json!({}), vec!["initialize", "new", "prompt"]),
        ("resume: false", json!({ "initialize": can }), vec!["initialize", "new", "prompt"]),
        (
            "",
            json!({ "initialize": can, "refuse": { "session/load": error } }),
            vec!["initialize", "load", "new", "prompt"],
        ),
        (
            "",
            json!({ "initialize": can, "replay": [{ "exit": 3 }] }),
            vec!["initialize", "load", "initialize", "new", "prompt"],
        ),
    ];
    for (settings, script, methods) in cases {
        let (home, thread) = with_acp(settings, &script);
        step(&home, &thread);
        let (told, prompt) = asked(&home);
        assert_eq!(told, methods, "{script}");
        assert!(is_whole(&prompt));
        let detail = detail(&home, &thread);
        assert_eq!(json!([detail["resumed"], detail["sessionId"], failed_attempts(&detail)]), json!([null, "s-2", 0]));
    }
}
