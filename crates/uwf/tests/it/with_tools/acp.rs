//! Agents that speak the Agent Client Protocol, in whole steps: a scripted one with the noise of real ones.

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::ntfy_server::NtfyServer;
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{FinishedRun, SCRIPTED_ACP, TestHome, text};

use crate::fixtures::acp::{assert_gone, config, fails, heard, kept, methods, prompts, scripted};
use crate::fixtures::listening::{ReplyListener, message};
use crate::fixtures::terminal::session;

#[test]
fn answer_is_found_in_realistic_output() {
    let script = json!({
        "ignoreEof": true,
        "prompts": [[
            { "print": "  ! sandbox is not available, going on without" },
            { "text": "Warning: long threads cost more." },
            { "text": "[MODE_UPDATE] yolo" },
            { "thought": "There are " }, { "thought": "two moons." },
            { "update": { "sessionUpdate": "plan", "entries": [{ "content": "count", "priority": "high", "status": "pending" }] } },
            { "text": "I look first." },
            { "update": { "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "ls", "kind": "execute", "status": "pending" } },
            { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress", "rawInput": { "command": "ls moons" } } },
            { "sleep": 0.05 },
            { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
                          "content": [{ "type": "content", "content": { "type": "text", "text": "phobos deimos" } }] } },
            { "request": { "method": "fs/read_text_file", "params": { "path": "/etc/hostname" } } },
            { "text": "\n\n---\nn: " }, { "text": "2\n---\nTwo moons." },
            { "update": { "sessionUpdate": "usage_update", "used": 1000, "size": 200000, "cost": { "amount": 0.25, "currency": "USD" } } },
            { "end": "end_turn", "usage": { "inputTokens": 111, "outputTokens": 22, "totalTokens": 133 } },
        ]],
    });
    let (home, thread) = scripted(&config("usage: prompt, mcp: false"), &script);
    let begun = Instant::now();
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert!(begun.elapsed() < Duration::from_secs(20), "an agent that stays is ended");
    assert_gone(&home);
    let told = home.last_step(&thread);
    assert_eq!(told["output"], json!({ "n": 2 }));
    let session = &told["detail"];
    assert_eq!(session["extractedBy"], "frontmatter");
    assert_eq!((&session["source"], &session["sessionId"]), (&json!("acp"), &json!("s-1")));
    assert_eq!(session["raw"], "\n\n---\nn: 2\n---\nTwo moons.");
    assert_eq!(session["tokens"], json!({ "input": 111, "output": 22, "cost": 0.25 }));
    let turns = session["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1);
    assert_snapshot!(turns[0]["output"].as_str().unwrap(), @r"
    Warning: long threads cost more.I look first.

    <thought>
    There are two moons.
    </thought>

    [tool call: ls]

    ---
    n: 2
    ---
    Two moons.

    <plan>
    [pending] count
    </plan>
    ");
    let call = &turns[0]["toolCalls"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("ls"), &json!("{\"command\":\"ls moons\"}")));
    assert_eq!(call["result"], "phobos deimos");
    assert!(call["durationMs"].as_u64().unwrap() >= 40, "{call}");
    let refused = heard(&home).into_iter().find(|message| message["id"] == "agent-1").unwrap();
    assert_eq!(refused["error"]["code"], json!(-32601), "files are not served: {refused}");
    let prompt = heard(&home).into_iter().find(|message| message["method"] == "session/prompt").unwrap();
    assert!(!prompt.to_string().contains("submit"), "a tool that is not there is not mentioned");
}

#[test]
fn json_output_asks_for_one_json_object() {
    let config = config("mcp: false").replace("command: uwf-acp", "command: uwf-acp, output: json");
    let (home, thread) = scripted(&config, &prompts(json!([[{ "text": "{\"n\": " }, { "text": "2}" }]])));
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 2 }));
    let prompt = heard(&home).into_iter().find(|message| message["method"] == "session/prompt").unwrap();
    assert!(prompt.to_string().contains("Print one JSON object and nothing else"), "{prompt}");
}

#[test]
fn agent_corrects_rejected_value_in_own_loop() {
    let script = prompts(json!([[
        { "mcp": { "tool": "submit", "arguments": { "n": "two" } } },
        { "mcp": { "tool": "submit", "arguments": { "n": 2 } } },
        { "text": "Done: two moons." },
    ]]));
    let (home, thread) = scripted(&config("permissions: deny"), &script);
    home.json(&["thread", "step", &thread]);
    let told = home.last_step(&thread);
    assert_eq!(told["output"], json!({ "n": 2 }));
    let session = &told["detail"];
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("submit"), &json!("Done: two moons.")));
    let results: Vec<&str> = session["turns"][0]["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|call| call["result"].as_str())
        .collect();
    assert_eq!(
        results,
        [
            "not accepted, nothing was kept:\n/n: expected an integer, found the string \"two\"",
            "accepted: this is the result for role `worker`; a later accepted call replaces it",
        ]
    );
    let input: Vec<&str> = session["turns"][0]["input"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(input.last().unwrap().contains("gives you the tool `submit`"), "{input:?}");
}

#[test]
fn feedback_is_second_prompt_in_same_session() {
    let script = prompts(json!([
        [{ "text": "There are two moons." }, { "end": "end_turn", "usage": { "inputTokens": 100, "outputTokens": 10, "totalTokens": 110 } }],
        [{ "text": "---\nn: 2\n---\n" }, { "end": "end_turn", "usage": { "inputTokens": 250, "outputTokens": 15, "totalTokens": 265 } }],
    ]));
    let (home, thread) = scripted(&config("usage: session"), &script);
    home.json(&["thread", "step", &thread]);
    let session = &home.last_detail(&thread);
    assert_eq!((&session["extractedBy"], &session["raw"]), (&json!("feedback"), &json!("There are two moons.")));
    let turns = session["turns"].as_array().unwrap();
    let tokens: Vec<&Value> = turns.iter().map(|turn| &turn["tokens"]).collect();
    assert_eq!(tokens, [&json!({ "input": 100, "output": 10 }), &json!({ "input": 150, "output": 5 })]);
    assert_eq!(session["tokens"], json!({ "input": 250, "output": 15 }));
    assert!(turns[1]["input"][0].as_str().unwrap().contains("Do not do the work again"));
    assert_eq!(methods(&home), ["initialize", "session/new", "session/prompt", "session/prompt"]);
}

#[test]
fn ambiguous_token_counts_are_not_recorded() {
    let script = prompts(
        json!([[{ "text": "---\nn: 2\n---\n" }, { "end": "end_turn", "usage": { "inputTokens": 1, "outputTokens": 1 } }]]),
    );
    let (home, thread) = scripted(&config(""), &script);
    home.json(&["thread", "step", &thread]);
    let session = &home.last_detail(&thread);
    assert_eq!((&session["tokens"], &session["totalTokens"]), (&Value::Null, &Value::Null));
}

#[test]
fn permissions_are_answered_as_the_policy_says() {
    let script = prompts(json!([[
        { "permission": { "title": "rm -rf target", "kind": "execute" } },
        { "permission": { "title": "mcp__uwf__submit", "input": { "n": 1 } } },
        { "permission": { "title": "echo mcp__uwf__submit", "kind": "execute", "options": ["allow_always", "reject_always"] } },
        { "permission": { "title": "weird", "options": ["something_new"] } },
        { "text": "\n---\nn: 1\n---\n" },
    ]]));
    for (policy, expected) in [
        ("allow", "[o-allow_once] [o-allow_once] [o-allow_always] [cancelled]"),
        ("edits", "[o-reject_once] [o-allow_once] [o-reject_always] [cancelled]"),
        ("deny", "[o-reject_once] [o-allow_once] [o-reject_always] [cancelled]"),
    ] {
        let (home, thread) = scripted(&config(&format!("permissions: {policy}")), &script);
        home.json(&["thread", "step", &thread]);
        let raw = text(&home.last_detail(&thread), "raw");
        assert_eq!(raw.lines().next().unwrap().trim(), expected, "{policy}");
    }
}

/// An agent may have sessions of helpers, and tell of them on the same wire.
#[test]
fn output_of_other_session_is_not_answer() {
    let script = prompts(json!([[
        { "elsewhere": "---\nn: 9\n---\n" },
        { "text": "---\nn: 1\n---\nOne." },
        { "elsewhere": "\n\n---\nn: 8\n---\n" },
    ]]));
    let (home, thread) = scripted(&config("mcp: false"), &script);
    home.json(&["thread", "step", &thread]);
    let told = home.last_step(&thread);
    assert_eq!((&told["output"], &told["detail"]["raw"]), (&json!({ "n": 1 }), &json!("---\nn: 1\n---\nOne.")));
}

/// An agent that loads its session and needs permission to clean up.
fn cleaning(settings: &str) -> (TestHome, String) {
    let mut script = prompts(json!([[
        { "text": "I will clean up." },
        { "permission": { "title": "rm -rf target", "kind": "execute", "input": { "command": "rm -rf target" } } },
        { "text": "\n\n---\nn: 1\n---\n" },
    ]]));
    script["initialize"] = json!({ "agentCapabilities": { "loadSession": true } });
    scripted(&format!("{}{settings}", config("permissions: ask")), &script)
}

#[test]
fn permission_request_is_question_to_person() {
    let (home, thread) = cleaning("");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(20), "{}", ran.stderr);
    assert_snapshot!(home.steady(&ran.stderr), @r#"
    waiting: role `worker` needs permission: rm -rf target (execute): {"command":"rm -rf target"}

    Reply with the number or the name of an option. `yes`, `y`, `ok` and `allow` allow it, once if possible. Any other reply denies the request, and the agent gets your text:

    1. allow_always
    2. allow_once
    3. reject_once

    Reply to it:
      uwf thread answer <id> -m 'TEXT'
    See what was done before:
      uwf thread read <id>
    "#);
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!((&shown["state"], &shown["denied"]), (&json!("waiting"), &Value::Null), "it is not denied yet");
    assert_eq!(methods(&home).last().unwrap(), "session/cancel");
    assert_gone(&home);
    assert!(text(&kept(&home, &thread), "raw").starts_with("I will clean up."), "what was paid for is kept");

    let answered = home.uwf(&["thread", "answer", &thread, "-m", "Allow once.", "--by", "alice"]);
    assert!(answered.stderr.contains("chosen: allow_once\n"), "{}", answered.transcript());
    let record = fs::read_to_string(home.record_file(&thread)).unwrap();
    let replied: Value = record.lines().find(|line| line.contains(r#""event":"replied""#)).unwrap().parse().unwrap();
    assert_eq!(replied["by"], "alice");
    let step = home.json(&["thread", "step", &thread]);
    assert_eq!((&step["done"], &step["denied"]), (&json!(true), &Value::Null));
    let detail = home.last_detail(&thread);
    assert_eq!((&detail["resumed"], &detail["turns"][0]["toolCalls"]), (&json!(true), &json!([])));
    assert!(text(&detail, "raw").contains("[o-allow_once]"), "{detail}");
    assert_snapshot!(detail["turns"][0]["input"][0].as_str().unwrap(), @r#"
    # A person's decision

    Your work was interrupted, because this needed permission:

    rm -rf target (execute): {"command":"rm -rf target"}

    The reply (alice): Allow once.

    If it was allowed, do it again: you have permission now. Otherwise, continue without it. Answer in the form you were given.
    "#);

    let (home, thread) = cleaning("");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(
        home.json(&["thread", "answer", &thread, "--data", "{\"n\": 1}"])["done"],
        true,
        "a person may do the work"
    );
}

#[test]
fn permission_is_granted_by_number() {
    for (reply, said, option) in [
        ("2", "chosen: allow_once\n", Some("[o-allow_once]")),
        ("ok", "allowed, once if possible\n", Some("[o-allow_once]")),
        ("later", "denied: the reply is not one of the options", None),
        ("no", "denied; the agent gets your text\n", None),
    ] {
        let (home, thread) = cleaning("");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        let answered = home.uwf(&["thread", "answer", &thread, "-m", reply]);
        assert!(answered.code == Some(0) && answered.stderr.contains(said), "{}", answered.transcript());
        let step = home.json(&["thread", "step", &thread]);
        match option {
            Some(option) => assert!(text(&home.last_detail(&thread), "raw").contains(option), "{reply}: {step}"),
            None => {
                assert_eq!(step["denied"], json!(["rm -rf target"]), "{reply}");
                let steps = home.uwf(&["thread", "steps", &thread, "--format", "text"]).stdout;
                assert!(steps.contains("{\"n\":1}, denied: rm -rf target"), "{steps}");
            }
        }
    }
}

#[test]
fn mistyped_option_denies_nothing() {
    let (home, thread) = cleaning("");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let refused = home.uwf(&["thread", "answer", &thread, "-m", "alow_once"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    for part in ["`alow_once` is not an option", "did you mean", "allow_once", "reply `no`"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let part = home.uwf(&["thread", "answer", &thread, "-m", "always"]);
    assert_eq!(part.code, Some(64), "{}", part.transcript());
    assert!(part.stderr.contains("did you mean `allow_always`?"), "{}", part.stderr);
    let refused = home.uwf(&["thread", "answer", &thread, "-m", "9"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("a number from 1 to 3 chooses an option"), "{}", refused.stderr);
    let answered = home.uwf(&["thread", "answer", &thread, "-m", "allow_once"]);
    assert!(answered.stderr.contains("chosen: allow_once"), "{}", answered.transcript());
}

#[test]
fn terminal_asks_again_for_unknown_reply() {
    let (home, thread) = cleaning("");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let dialog = [("your reply", "maybe\r"), ("your reply", "3\r")];
    let seen = session(&home, &["thread", "answer", &thread], &dialog);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    assert!(
        seen.shown.contains("This is not an option.") && seen.shown.contains("chosen: reject_once"),
        "{}",
        seen.shown
    );
    assert_eq!(home.json(&["thread", "step", &thread])["denied"], json!(["rm -rf target"]));
}

#[test]
fn permission_is_granted_by_button() {
    let server = NtfyServer::start(None);
    let rule = format!("ntfy: {{ server: \"{}\", topic: news, replies: answers, run: true }}", server.url);
    let (home, thread) = cleaning(&format!("notify: {{ on: waiting, {rule} }}\n"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = message(|| server.messages("news"), 0);
    let labels: Vec<&Value> = asked["actions"].as_array().unwrap().iter().map(|action| &action["label"]).collect();
    assert_eq!(labels, ["allow_always", "allow_once", "reject_once"]);
    // The buttons have the options, so the text has them no more.
    let said = text(&asked, "message");
    let said = said.replace(&said[said.find("send `").unwrap() + 6..said.find(" YOUR").unwrap()], "CODE");
    assert_snapshot!(home.steady(&said).replace(&thread, "<id>"), @r#"
    Permission needed: rm -rf target (execute): {"command":"rm -rf target"}

    Thread <id>: count the moons

    Press a button, or send `CODE YOUR ANSWER` to the topic answers. `yes` allows it; a text that names no option denies it.
    "#);
    let _listener = ReplyListener::start(&home);
    server.press(&asked, 1);
    until("the thread ended", || home.json(&["thread", "show", &thread])["done"] == true);
    let detail = home.last_detail(&thread);
    assert!(text(&detail, "raw").contains("[o-allow_once]"), "{detail}");
    server.press(&asked, 2);
    until("the second answer is refused", || server.messages("news").len() == 3);
    let refused = server.messages("news")[2]["message"].as_str().unwrap().to_owned();
    assert!(refused.contains("was already answered by ntfy:answers at "), "{refused}");
}

#[test]
fn reply_and_time_out_deny_permission() {
    let denied = json!(["rm -rf target"]);
    let (home, thread) = cleaning("");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20), "it still waits");
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains("Permission needed: rm -rf target"), "{page}");
    assert!(page.contains("<input type=\"radio\" name=\"text\" value=\"allow_once\">"), "{page}");
    let head = home.head(&thread).unwrap();
    let body = json!({ "expectedHead": head, "text": "No, use git clean.", "by": "carol" });
    let answered = server.post(&format!("/api/threads/{thread}/answer"), &body);
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(fs::read_to_string(home.record_file(&thread)).unwrap().contains(r#""by":"carol""#));
    assert_eq!(home.json(&["thread", "step", &thread])["denied"], denied);
    let prompt = heard(&home).into_iter().rfind(|message| message["method"] == "session/prompt").unwrap();
    assert!(prompt.to_string().contains("The reply (carol): No, use git clean."), "{prompt}");

    let (home, thread) = cleaning("askTimeout: 1ms\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(home.json(&["thread", "step", &thread])["denied"], denied);
    assert!(fs::read_to_string(home.record_file(&thread)).unwrap().contains(r#""by":"askTimeout""#));
}

#[test]
fn denial_counts_if_agent_does_not_repeat() {
    for (reply, denied) in [("No, leave it.", json!(["rm -rf target"])), ("yes", Value::Null)] {
        let (home, thread) = cleaning("");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        assert_eq!(home.uwf(&["thread", "answer", &thread, "-m", reply]).code, Some(0));
        let mut script = prompts(json!([[{ "text": "I left it.\n\n---\nn: 1\n---\n" }]]));
        script["initialize"] = json!({ "agentCapabilities": { "loadSession": true } });
        home.file("acp.json", &script.to_string());
        assert_eq!(home.json(&["thread", "step", &thread])["denied"], denied, "{reply}");
    }
}

#[test]
fn prompt_at_terminal_ends_with_denial_in_time() {
    let (home, thread) = cleaning("askTimeout: 4s\n");
    // At the terminal only the programs of the home are found, and the agent is a script of Python.
    let found =
        std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    std::os::unix::fs::symlink(String::from_utf8(found.stdout).unwrap().trim(), home.bin_dir().join("python3"))
        .unwrap();
    let seen = session(&home, &["run", &thread], &[("your reply", "ye")]);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    assert!(seen.shown.contains("there was no reply in time"), "{}", seen.shown);
    let prompt = heard(&home).into_iter().rfind(|message| message["method"] == "session/prompt").unwrap();
    assert!(prompt.to_string().contains("The reply (askTimeout): There was no reply within 4s."), "{prompt}");
    assert!(!text(&home.last_detail(&thread), "raw").contains("o-allow"), "{}", seen.shown);
}

#[test]
fn permission_is_denied_if_questions_are_forbidden() {
    let (home, thread) = cleaning("ask: never\n");
    assert_eq!(home.json(&["thread", "step", &thread])["denied"], json!(["rm -rf target"]));
}

#[test]
fn mode_and_model_are_set_if_offered() {
    let answer = json!([[{ "text": "---\nn: 1\n---\n" }]]);
    let listed = json!({
        "new": {
            "modes": { "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "full", "name": "Full" }] },
            "models": { "currentModelId": "s", "availableModels": [{ "modelId": "small-1", "name": "Small" }] },
        },
        "prompts": answer,
    });
    let with_model = |settings: &str, model: &str| {
        format!(
            "providers: {{ p: {{ baseUrl: \"http://127.0.0.1:9/v1\" }} }}\nmodels: {{ little: {{ provider: p, name: small-1 }} }}\n{}",
            config(settings).replace("command: uwf-acp", &format!("command: uwf-acp, model: {model}"))
        )
    };
    let (home, thread) = scripted(&with_model("mode: full", "little"), &listed);
    home.json(&["thread", "step", &thread]);
    let sent: Vec<Value> =
        heard(&home)[2..4].iter().map(|message| json!([message["method"], message["params"]])).collect();
    assert_eq!(
        sent,
        [
            json!(["session/set_mode", { "sessionId": "s-1", "modeId": "full" }]),
            json!(["session/set_model", { "sessionId": "s-1", "modelId": "small-1" }]),
        ]
    );

    let options = json!({
        "new": { "configOptions": [
            { "id": "m", "category": "mode", "type": "select", "options": [{ "value": "ask" }, { "value": "full" }] },
            { "id": "llm", "category": "model", "type": "select", "options": [{ "group": "g", "options": [{ "value": "big-1" }] }] },
        ] },
        "prompts": answer,
    });
    let (home, thread) = scripted(&with_model("mode: full", "big-1"), &options);
    home.json(&["thread", "step", &thread]);
    let sent: Vec<Value> =
        heard(&home)[2..4].iter().map(|message| json!([message["method"], message["params"]])).collect();
    assert_eq!(
        sent,
        [
            json!(["session/set_config_option", { "sessionId": "s-1", "configId": "m", "value": "full" }]),
            json!(["session/set_config_option", { "sessionId": "s-1", "configId": "llm", "value": "big-1" }]),
        ]
    );

    let told = [
        (with_model("mode: yolo", "little"), &listed),
        (with_model("mode: full", "huge-1"), &listed),
        (with_model("mode: full", "huge-1"), &prompts(answer)),
    ]
    .map(|(config, script)| {
        let (home, thread) = scripted(&config, script);
        fails(&home, &thread)
    });
    assert_snapshot!(told.join("\n"), @r"
    78 error: agent `a` has no mode `yolo` to choose; it offers ask, full
    78 error: agent `a` has no model `huge-1` to choose; it offers small-1
    78 error: agent `a` has no mode `full` to choose; it offers none over this protocol
    ");
}

#[test]
fn preset_disables_agent_questions_only_when_all_allowed() {
    let script = json!({
        "new": { "modes": { "currentModeId": "default", "availableModes": [{ "id": "default" }, { "id": "yolo" }] } },
        "prompts": [[{ "text": "---\nn: 1\n---\n" }]],
    });
    for (permissions, called, methods_told) in [
        ("allow", "--acp|--debug|true|", vec!["initialize", "session/new", "session/set_mode", "session/prompt"]),
        ("deny", "--acp|--debug||", vec!["initialize", "session/new", "session/prompt"]),
    ] {
        let (home, thread) = scripted(
            &format!(
                "agents: {{ g: {{ command: uwf-acp, args: [--debug], config: {{ preset: gemini, permissions: {permissions} }} }} }}\ndefaultAgent: g\n"
            ),
            &script,
        );
        home.script(
            "gemini",
            "#!/bin/sh\nprintf '%s|' \"$@\" \"$GEMINI_CLI_TRUST_WORKSPACE\" > called\nexec scripted-acp\n",
        );
        home.json(&["thread", "step", &thread]);
        assert_eq!(fs::read_to_string(home.work().join("called")).unwrap(), called, "{permissions}");
        assert_eq!(methods(&home), methods_told, "{permissions}");
    }
}

#[test]
fn a_prompt_of_200_kb_arrives_whole() {
    let config = format!("{}promptBudget: 400000\n", config(""));
    let (home, _) = scripted(&config, &prompts(json!([[{ "text": "---\nn: 1\n---\n" }]])));
    let task = format!("count these: {}END", "moon \u{263d}, ".repeat(22_000));
    assert!(task.len() > 200_000);
    let file = home.file("task.txt", &task);
    let mut start = home.command(&["thread", "start", "count-rounds", "-p", "-"]);
    let started = start.stdin(fs::File::open(file).unwrap()).output().unwrap();
    let thread = text(&FinishedRun::from(started).json(), "thread");
    home.json(&["thread", "step", &thread]);
    let prompt = heard(&home).into_iter().find(|message| message["method"] == "session/prompt").unwrap();
    assert!(prompt["params"]["prompt"][0]["text"].as_str().unwrap().contains(&task));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let told = [
        ("args: []", ""),
        ("args: []", "preset: cloud"),
        ("args: []", "presets: claude"),
        ("args: [x]", "permissions: sometimes"),
        ("args: [no-such-program]", ""),
    ]
    .map(|(args, settings)| {
        let config = config(settings).replace("args: [scripted-acp]", args);
        let (home, thread) = scripted(&config, &json!({}));
        let ran = home.uwf(&["thread", "step", &thread]);
        let told = ran.stderr.split("\nhint: all it printed").next().unwrap_or_default().trim_end().to_owned();
        format!("{} {told}", ran.code.unwrap_or(-1))
    });
    assert_snapshot!(told.join("\n"), @r#"
    78 error: agent `a` has no program
    hint: set `preset` to a known agent, or give the program: `args: [my-agent, --acp]`
    78 error: `config.preset` of agent `a`: expected "hermes", "codex", "claude", "opencode", "gemini", "cursor" or "goose", found "cloud"; did you mean "claude"?
    hint: `uwf agent describe acp` lists the settings it has
    78 error: `config` of agent `a`: unknown key `presets`; did you mean `preset`?
    hint: `uwf agent describe acp` lists the settings it has
    78 error: `config.permissions` of agent `a`: expected "allow", "edits", "deny" or "ask", found "sometimes"
    hint: `uwf agent describe acp` lists the settings it has
    78 error: cannot start agent `no-such-program`: program `no-such-program` is not on PATH
    hint: install it, or give the program's full path
    "#);
}

#[test]
fn ungranted_secrets_stay_out_of_agent_and_trace() {
    let script = prompts(json!([[{ "text": "key sk-0123456789abc\n" }, { "text": "---\nn: 1\n---\n" }]]));
    let settings = format!("secrets: [MOON_KEY]\n{}", config(""));
    let (home, thread) = scripted(&settings, &script);
    fs::write(home.root().join(".env"), "MOON_KEY=sk-0123456789abc\n").unwrap();
    home.script(
        "scripted-acp",
        &SCRIPTED_ACP.replace(
            "script = json.load",
            "open('env', 'w').write(os.environ.get('MOON_KEY', 'none'))\nscript = json.load",
        ),
    );
    home.json(&["thread", "step", &thread]);
    assert_eq!(fs::read_to_string(home.work().join("env")).unwrap(), "none");
    assert!(text(&home.last_detail(&thread), "raw").starts_with("key [redacted MOON_KEY]"));
}
