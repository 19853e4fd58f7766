//! What is known of the work of an agent that never came to its end: hung, out of time, killed. Its turns are kept with
//! the failed attempt.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::processes::{signal, until};
use uwf_testing::{SCRIPTED_ACP, TestHome, text};

use crate::fixtures::acp::kept;
use crate::home;

/// A thread of one role whose output is `{n: integer}`, played by a built-in agent with a scripted model.
fn with_model(server: &LlmServer, agent: &str) -> (TestHome, String) {
    let home = home();
    home.config(&format!(
        "killGrace: 1\nproviders:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  a: {agent}\ndefaultAgent: a\ndefaultModel: m\n",
        server.url()
    ));
    let thread = counting(&home);
    (home, thread)
}

fn counting(home: &TestHome) -> String {
    home.start_counting(1, "count the moons")
}

/// Turns of an attempt: output, and of each call name, arguments, result.
fn told(attempt: &Value) -> Value {
    let calls = |turn: &Value| -> Value {
        let calls = turn["toolCalls"].as_array().unwrap().iter();
        calls.map(|call| json!([call["name"], call["arguments"], call["result"]])).collect()
    };
    attempt["turns"].as_array().unwrap().iter().map(|turn| json!([turn["output"], calls(turn)])).collect()
}

fn step(home: &TestHome, thread: &str) -> Child {
    home.command(&["thread", "step", thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill_agent(home: &TestHome, thread: &str) {
    signal(&home.recorded(thread, "started")["pid"], "KILL");
}

fn usage(input: u64, output: u64) -> ScriptedUsage {
    ScriptedUsage { input, output, cached: None, cache_write: 0, reasoning: None, cost: None }
}

/// Output of the turn under way, as far as it is recorded. The file of the turn is written after its texts.
fn recorded_output(home: &TestHome, thread: &str) -> Option<String> {
    let attempt = text(&home.recorded(thread, "opened"), "attempt");
    let files = home.root().join("threads").join(thread).join("attempts");
    let turn: Value = serde_json::from_str(&fs::read_to_string(files.join(format!("{attempt}.turn"))).ok()?).ok()?;
    let trace = fs::read_to_string(files.join(format!("{attempt}.trace"))).ok()?;
    let lines = trace.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut texts = lines.filter_map(|line| line["text"].as_str().map(str::to_owned));
    texts.nth(turn["output"].as_u64()? as usize)
}

/// A model that makes a call, and says nothing more when it has heard the result.
fn hanging_in_round_2() -> LlmServer {
    LlmServer::start([
        ScriptedAnswer::text("First I look.")
            .and_call("shell_exec", json!({ "command": "echo seen" }))
            .usage(usage(100, 10)),
        ScriptedAnswer::text("never").after(Duration::from_mins(1)).repeated(),
    ])
}

/// What is kept of it.
fn first_look() -> Value {
    json!([["First I look.", [["shell_exec", "{\"command\":\"echo seen\"}", "exit 0\nseen\n"]]], ["", []]])
}

#[test]
fn hung_provider_leaves_completed_turns() {
    let server = hanging_in_round_2();
    let (home, thread) = with_model(&server, "{ command: uwf-react, config: { idleTimeout: 1s, totalTimeout: 3s } }");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let attempt = kept(&home, &thread);
    assert_eq!((&attempt["type"], &attempt["source"]), (&json!("attempt"), &json!("wire")));
    assert_eq!(told(&attempt), first_look());
    assert_eq!(attempt["turns"][0]["tokens"], json!({ "input": 100, "output": 10 }));
    assert_eq!(attempt["tokens"], Value::Null, "what the second round cost is not known");
    let inputs: Vec<usize> =
        [0, 1].iter().map(|turn| attempt["turns"][turn]["input"].as_array().unwrap().len()).collect();
    assert_eq!(inputs[1], inputs[0] + 2, "what was said before, the answer, and the result of its call");

    // The step that succeeds leads to it, and so does a walk from the thread's head.
    home.config(
        "agents:\n  b: { command: sh, args: [-c, 'echo \"{\\\"n\\\": 1}\"'], output: json }\ndefaultAgent: b\n",
    );
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let details = home.json(&["thread", "step-details", &head, "--format", "json"]);
    assert_eq!(details["detail"]["attempts"][0]["turns"][0]["hash"], attempt["turns"][0]["hash"]);
    let walked = home.uwf(&["cas", "walk", &head, "--format", "json"]).stdout;
    let call = text(&attempt["turns"][0]["toolCalls"][0], "hash");
    assert!(walked.contains(&call), "{walked}");
}

#[test]
fn an_agent_that_is_killed_leaves_its_turns() {
    let server = hanging_in_round_2();
    let (home, thread) = with_model(&server, "{ command: uwf-react }");
    let mut step = step(&home, &thread);
    until("the second round", || server.asked().len() == 2);
    kill_agent(&home, &thread);
    assert_eq!(step.wait().unwrap().code(), Some(40));
    let attempt = kept(&home, &thread);
    assert_eq!(told(&attempt), first_look());
    assert!(text(&attempt, "error").contains("signal 9"), "{attempt}");
}

#[test]
fn killed_keeper_leaves_turns_to_next_step() {
    let server = hanging_in_round_2();
    let (home, thread) = with_model(&server, "{ command: uwf-react }");
    let mut step = step(&home, &thread);
    until("the second round", || server.asked().len() == 2);
    home.kill_keeper(&thread);
    step.wait().unwrap();
    home.config(
        "agents:\n  b: { command: sh, args: [-c, 'echo \"{\\\"n\\\": 1}\"'], output: json }\ndefaultAgent: b\n",
    );
    home.json(&["thread", "step", &thread]);
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let details = home.json(&["thread", "step-details", &head, "--format", "json"]);
    assert_eq!(told(&details["detail"]["attempts"][0]), first_look());
}

#[test]
fn command_running_at_timeout_is_recorded() {
    let calls = ScriptedAnswer::text("Now the long one.")
        .and_call("shell_exec", json!({ "command": "echo quick" }))
        .and_call("shell_exec", json!({ "command": "sleep 60" }));
    let server = LlmServer::start([calls.usage(usage(7, 3))]);
    let (home, thread) = with_model(&server, "{ command: uwf-react, timeout: 2s }");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let attempt = kept(&home, &thread);
    let expected = json!([[
        "Now the long one.",
        [
            ["shell_exec", "{\"command\":\"echo quick\"}", "exit 0\nquick\n"],
            ["shell_exec", "{\"command\":\"sleep 60\"}", ""]
        ]
    ]]);
    assert_eq!(told(&attempt), expected);
    assert_eq!(attempt["tokens"], json!({ "input": 7, "output": 3 }));
}

#[test]
fn stalled_completion_becomes_partial_turn() {
    let server = LlmServer::start([ScriptedAnswer::text("")
        .chunks(["The answer ", "is that", " nothing"])
        .stalling_after(3)
        .repeated()]);
    // No second try, whose end could come before its text.
    let (home, thread) =
        with_model(&server, "{ command: uwf-llm, config: { structured: text, idleTimeout: 2s, totalTimeout: 2s } }");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let attempt = kept(&home, &thread);
    assert_eq!(told(&attempt), json!([["The answer is that", []]]));
    assert_eq!(attempt["raw"], attempt["turns"][0]["output"]);
}

#[test]
fn unusable_answer_keeps_all_turns() {
    let server = LlmServer::start([ScriptedAnswer::text("I cannot count.").repeated()]);
    let (home, thread) = with_model(&server, "{ command: uwf-llm, config: { structured: text } }");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    // Equal turns are one node, which is shown once.
    let turns = kept(&home, &thread)["turns"].clone();
    assert!(turns.as_array().unwrap().len() >= 2, "the answer, and that to the feedback: {turns}");
}

/// A thread of an agent that speaks ACP, makes two tool calls and hangs.
fn hanging_acp(settings: &str, script: &Value) -> (TestHome, String) {
    let call = |id: &str, result: &str| {
        json!([
            { "update": { "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("look {id}"), "kind": "read",
                          "status": "in_progress", "rawInput": { "path": id } } },
            { "update": { "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
                          "content": [{ "type": "content", "content": { "type": "text", "text": result } }] } },
        ])
    };
    let acts: Vec<Value> = [
        json!([{ "text": "I look twice." }]),
        call("a", "one moon"),
        call("b", "two moons"),
        json!([{ "text": "There are" }, { "hang": true }]),
    ]
    .iter()
    .flat_map(|acts| acts.as_array().unwrap().clone())
    .collect();
    let mut script = script.clone();
    script["prompts"] = json!([acts]);
    let home = home();
    home.script("scripted-acp", SCRIPTED_ACP);
    home.config(&format!(
        "killGrace: 1\nagents:\n  a: {{ command: uwf-acp, args: [scripted-acp], config: {{ mcp: false }}, {settings} }}\ndefaultAgent: a\n"
    ));
    home.file("acp.json", &script.to_string());
    let thread = counting(&home);
    (home, thread)
}

fn two_looks(output: &str) -> Value {
    json!([[output, [["look a", "{\"path\":\"a\"}", "one moon"], ["look b", "{\"path\":\"b\"}", "two moons"]]]])
}

const SAID: &str = "I look twice.\n\n[tool call: look a]\n\n[tool call: look b]\n\nThere are";

#[test]
fn events_of_failed_program_become_turns() {
    let home = home();
    let events = [
        json!({ "type": "thread.started", "thread_id": "t-1" }),
        json!({ "type": "item.completed", "item": { "id": "i1", "type": "agent_message", "text": "I look." } }),
        json!({ "type": "item.completed", "item": { "id": "i2", "type": "command_execution", "command": "ls",
                "aggregated_output": "moons", "exit_code": 0, "status": "completed" } }),
    ];
    let lines: Vec<String> = events.iter().map(|event| format!("echo '{event}'")).collect();
    for (number, (ending, settings)) in [("exit 3", "timeout: 1m"), ("sleep 60", "timeout: 2s")].iter().enumerate() {
        home.script("printer", &format!("#!/bin/sh\ncat > /dev/null\n{}\n{ending}\n", lines.join("\n")));
        home.config(&format!(
            "killGrace: 1\nagents:\n  a: {{ command: printer, output: text, {settings}, config: {{ trace: codex }} }}\ndefaultAgent: a\n"
        ));
        let thread = if number == 0 { counting(&home) } else { home.start("count-rounds", "again") };
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
        let attempt = kept(&home, &thread);
        assert_eq!((&attempt["source"], &attempt["sessionId"]), (&json!("stdout"), &json!("t-1")));
        assert_eq!(told(&attempt)[0][0], "I look.", "{attempt}");
        assert_eq!(told(&attempt)[0][1][0][2], "moons");
        assert!(attempt["turns"][0]["input"][1].as_str().unwrap().contains("# Task"), "the prompt: {attempt}");
    }
}

#[test]
fn events_of_hung_cursor_become_turns() {
    let home = home();
    let events = [
        json!({ "type": "system", "subtype": "init", "session_id": "chat-1" }),
        json!({ "type": "assistant", "session_id": "chat-1",
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "I look." }] } }),
        json!({ "type": "tool_call", "subtype": "started", "call_id": "c1", "session_id": "chat-1",
                "tool_call": { "readToolCall": { "args": { "path": "moons" } } } }),
        json!({ "type": "tool_call", "subtype": "completed", "call_id": "c1", "session_id": "chat-1",
                "tool_call": { "readToolCall": { "args": { "path": "moons" },
                               "result": { "success": { "content": "phobos" } } } } }),
    ];
    let lines: Vec<String> = events.iter().map(|event| format!("echo '{event}'")).collect();
    home.script("cursor-agent", &format!("#!/bin/sh\n{}\nsleep 60\n", lines.join("\n")));
    home.config("killGrace: 1\nagents:\n  a: { command: uwf-cursor, timeout: 3s }\ndefaultAgent: a\n");
    let thread = counting(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let attempt = kept(&home, &thread);
    assert_eq!(attempt["sessionId"], "chat-1");
    let turn = &told(&attempt)[0];
    assert_eq!((&turn[0], &turn[1][0][0]), (&json!("I look."), &json!("read")), "{attempt}");
    assert!(text(&attempt["turns"][0]["toolCalls"][0], "result").contains("phobos"), "{attempt}");
}

mod with_tools {
    use super::*;

    #[test]
    fn hung_acp_agent_ends_keeping_its_turns() {
        let (home, thread) = hanging_acp("timeout: 3s", &json!({ "ignoreTerm": true, "ignoreEof": true }));
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
        let attempt = kept(&home, &thread);
        assert_eq!((&attempt["source"], &attempt["sessionId"]), (&json!("acp"), &json!("s-1")));
        assert_eq!(told(&attempt), two_looks(&format!("{SAID} (cancelled)")), "what it says when it is cancelled, too");
    }

    #[test]
    fn killed_acp_agent_leaves_its_turns() {
        let (home, thread) = hanging_acp("timeout: 1m", &json!({}));
        let mut step = step(&home, &thread);
        // The agent's last words are recorded within a second.
        until("the turn is recorded", || {
            recorded_output(&home, &thread).is_some_and(|said| said.ends_with("There are"))
        });
        kill_agent(&home, &thread);
        assert_eq!(step.wait().unwrap().code(), Some(40));
        assert_eq!(told(&kept(&home, &thread)), two_looks(SAID));
    }
}
