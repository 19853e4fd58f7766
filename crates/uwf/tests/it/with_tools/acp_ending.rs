//! ACP agents that fail, hang, are killed or interrupted.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{SCRIPTED_ACP, TestHome, text};

use crate::fixtures::acp::{assert_gone, config, fails, kept, methods, prompts, scripted};

/// A step whose agent is at work and does not end by itself.
fn hanging(script: &Value) -> (TestHome, String, Child) {
    let (home, thread) = scripted(&config(""), script);
    let mut step = home.command(&["thread", "step", &thread]);
    let stepper = step.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !home.work().join("at-work").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the agent never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    (home, thread, stepper)
}

#[test]
fn abnormal_turn_ends_fail_and_keep_output() {
    let told = ["refusal", "max_tokens", "max_turn_requests", "cancelled", "tired", ""].map(|reason| {
        let (home, thread) =
            scripted(&config(""), &prompts(json!([[{ "text": "---\nn: 1\n---\nSo far." }, { "end": reason }]])));
        let told = fails(&home, &thread);
        assert_eq!(kept(&home, &thread)["raw"], "---\nn: 1\n---\nSo far.", "{reason}");
        told
    });
    assert_snapshot!(told.join("\n"), @r"
    40 error: agent `a` refused to continue
    40 error: agent `a` was cut off at its token limit (`max_tokens`)
    40 error: agent `a` reached its limit of model requests in one turn
    40 error: agent `a` cancelled the turn without being asked
    40 error: agent `a` ended its turn with `tired`, an unknown reason
    40 error: agent `a` did not say how its turn ended
    ");
    // What was handed in before the limit was hit is whole.
    let script = prompts(
        json!([[{ "mcp": { "tool": "submit", "arguments": { "n": 3 } } }, { "text": "And" }, { "end": "max_tokens" }]]),
    );
    let (home, thread) = scripted(&config(""), &script);
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 3 }));
}

#[test]
fn abnormal_turn_end_records_its_cost() {
    let cost = json!({ "update": { "sessionUpdate": "usage_update", "used": 9, "size": 200, "cost": { "amount": 0.25, "currency": "USD" } } });
    let usage = json!({ "inputTokens": 111, "outputTokens": 22, "totalTokens": 133 });
    for (end, tokens) in [
        (json!({ "end": "refusal", "usage": usage }), json!({ "input": 111, "output": 22, "cost": 0.25 })),
        (json!({ "exit": 3 }), json!({ "input": null, "output": null, "cost": 0.25 })),
    ] {
        let (home, thread) = scripted(&config("usage: prompt"), &prompts(json!([[{ "text": "So far." }, cost, end]])));
        home.json(&["thread", "limit", &thread, "--cost", "0.25"]);
        fails(&home, &thread);
        assert_eq!(kept(&home, &thread)["tokens"], tokens);
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
    }
}

#[test]
fn an_agent_that_fails_says_why() {
    let told = [
        json!({ "prompts": [[{ "text": "So far." }, { "stderr": "panic: out of moons" }, { "exit": 3 }]] }),
        json!({ "refuse": { "session/new": { "code": -32000, "message": "Authentication required" } } }),
        json!({ "refuse": { "session/prompt": { "code": -32603, "message": "Internal error", "data": { "details": "quota exceeded" } } } }),
        json!({ "initialize": { "protocolVersion": 2 } }),
        json!({ "new": { "sessionId": null } }),
    ]
    .map(|script| {
        let (home, thread) = scripted(&config(""), &script);
        let told = fails(&home, &thread);
        assert_gone(&home);
        told
    });
    assert_snapshot!(told.join("\n"), @r"
    40 error: agent `a` exited with 3 before it answered `session/prompt`; its last words: panic: out of moons
    40 error: agent `a` answered `session/new` with an error: Authentication required
    30 error: agent `a` is at its usage limit; no end time is given, so uwf tries again at <time> UTC: agent `a` answered `session/prompt` with an error: Internal error (quota exceeded)
    40 error: agent `a` speaks version 2 of the Agent Client Protocol, uwf speaks 1
    40 error: agent `a` opened a session without an id
    ");
    let (home, thread) = scripted(&config(""), &prompts(json!([[{ "text": "So far." }, { "exit": 3 }]])));
    fails(&home, &thread);
    assert_eq!(kept(&home, &thread)["raw"], "So far.");
}

#[test]
fn hung_agent_times_out_and_keeps_output() {
    let script = json!({ "ignoreEof": true, "ignoreTerm": true, "prompts": [[
        { "text": "Counting." },
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "t", "title": "telescope", "status": "in_progress", "rawInput": "north" } },
        { "text": "One moon so" }, { "text": " far" },
        { "sleep": 600 },
    ]] });
    let config = config("").replace("command: uwf-acp", "command: uwf-acp, idleTimeout: 1.5");
    let (home, thread) = scripted(&config, &script);
    let begun = Instant::now();
    assert_eq!(
        fails(&home, &thread),
        "40 error: agent `a` was ended: it printed nothing for 1.5 s; its last words: acp: cancelled"
    );
    assert!(begun.elapsed() < Duration::from_secs(30));
    let kept = kept(&home, &thread);
    assert_snapshot!(kept["raw"].as_str().unwrap(), @r"
    Counting.

    [tool call: telescope, in_progress] north

    One moon so far
    ");
    assert!(text(&kept, "stderr").contains("acp: tool telescope: in_progress"), "{kept}");
    assert_gone(&home);
}

#[test]
fn working_agent_is_not_idle() {
    let mut actions: Vec<Value> = Vec::new();
    for _ in 0..8 {
        actions.extend([json!({ "sleep": 0.4 }), json!({ "thought": "." })]);
    }
    actions.push(json!({ "text": "---\nn: 8\n---\n" }));
    let config = config("").replace("command: uwf-acp", "command: uwf-acp, idleTimeout: 2.5");
    let (home, thread) = scripted(&config, &prompts(json!([actions])));
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
}

#[test]
fn a_kill_leaves_no_process() {
    let script =
        json!({ "ignoreEof": true, "prompts": [[{ "text": "Counting." }, { "touch": "at-work" }, { "hang": true }]] });
    let (home, thread, mut stepper) = hanging(&script);
    assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0));
    assert!(!stepper.wait().unwrap().success());
    assert_gone(&home);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], json!("killed"));
}

/// The agent starts a process in its own group, and one in a session of its own, and does not wait for either.
#[test]
fn processes_of_the_agent_end_with_it() {
    let (home, thread) = scripted(&config(""), &prompts(json!([[{ "text": "---\nn: 1\n---\n" }]])));
    home.script("an-acp", SCRIPTED_ACP);
    let starting =
        "for how in '' setsid; do $how sh -c 'echo $$ >> pids; exec sleep 300' < /dev/null > /dev/null 2>&1 & done\n";
    let waiting = "while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done\n";
    home.script("scripted-acp", &format!("#!/bin/sh\ntouch pids\n{starting}{waiting}exec an-acp \"$@\"\n"));
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert_eq!(fs::read_to_string(home.work().join("pids")).unwrap().lines().count(), 3);
    assert_gone(&home);
}

#[test]
fn ctrl_c_cancels_turn_and_keeps_output() {
    let script = json!({ "ignoreTerm": true, "ignoreEof": true,
        "prompts": [[{ "text": "Counting." }, { "touch": "at-work" }, { "hang": true }]] });
    let (home, thread, mut stepper) = hanging(&script);
    assert!(Command::new("kill").args(["-INT", &stepper.id().to_string()]).status().unwrap().success());
    assert_eq!(stepper.wait().unwrap().code(), Some(130));
    assert_eq!(methods(&home).last().unwrap(), "session/cancel");
    assert_eq!(kept(&home, &thread)["raw"], "Counting. (cancelled)");
    assert_gone(&home);
}
