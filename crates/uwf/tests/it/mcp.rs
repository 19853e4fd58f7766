//! `uwf mcp`: the commands as tools, as a client drives them that starts the server with hardly any environment.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow};

use crate::fixtures::mcp_client::Client;
use crate::home;

fn counting(script: &str) -> TestHome {
    let home = home();
    home.worker("output: json", script);
    home.put("count-rounds", &counting_workflow(2));
    home
}

#[test]
fn client_runs_thread_from_start_to_end() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let mut client = Client::start(&home, &["mcp"]);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "workflows",
            "validate",
            "start",
            "step",
            "run",
            "show",
            "read",
            "why",
            "answer",
            "take",
            "retry",
            "list",
            "kill"
        ]
    );
    let list = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "list").unwrap();
    let help = home.uwf(&["thread", "list", "--help"]).stdout;
    let limit = &list["inputSchema"]["properties"]["limit"];
    assert_eq!(limit["type"], "integer");
    assert!(help.contains(limit["description"].as_str().unwrap().trim_end_matches('.')), "{limit}");
    assert_eq!(client.report("workflows", json!({}))[0]["name"], "count-rounds");
    assert_eq!(client.report("validate", json!({ "workflow": "count-rounds" }))[0]["valid"], true);
    // A prompt may begin with what looks like an option.
    let started =
        client.report("start", json!({ "workflow": "count-rounds", "prompt": "--help me count", "maxCost": 2.5 }));
    let thread = started["thread"].as_str().unwrap().to_owned();
    assert_eq!(client.report("step", json!({ "thread": "@" }))["role"], "worker");
    let shown = client.report("show", json!({ "thread": thread }));
    assert_eq!(json!([shown["steps"], shown["task"]]), json!([1, "--help me count"]));
    assert_eq!(client.report("run", json!({ "thread": thread, "waitForLimits": false }))["done"], true);
    assert!(client.call("read", json!({ "thread": thread, "quota": 2000 })).0.contains("## 2. worker"));
    for what in ["thread", "step"] {
        assert!(client.call("why", json!({ what: thread })).0.contains("enough"), "{what}");
    }
    assert!(client.call("why", json!({})).1, "of what?");
    assert_eq!(client.report("list", json!({ "search": "help me", "state": "completed" }))[0]["thread"], thread);
    assert_eq!(client.report("list", json!({ "search": "something else", "state": "completed" })), json!([]));
    assert_eq!(client.report("list", json!({ "state": "completed", "limit": 5 }))[0]["thread"], thread);
}

#[test]
fn answer_from_person_reaches_asking_agent() {
    let home = counting(
        "#!/bin/sh\nif grep -q Apples; then echo '{\"n\": 1}'; else echo '{\"status\": \"needs_input\", \"question\": \"Which?\"}'; fi\n",
    );
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &["mcp"]);
    let (said, is_error) = client.call("step", json!({ "thread": thread }));
    assert!(!is_error && said.contains("Which?"), "{said}");
    client.report("answer", json!({ "thread": thread, "text": "Apples." }));
    assert_eq!(client.report("step", json!({ "thread": thread }))["role"], "worker");
}

#[test]
fn long_call_continues_without_a_waiting_client() {
    let home = counting("#!/bin/sh\ntouch working\nuntil [ -e go ]; do sleep 0.05; done\necho '{\"n\": 1}'\n");
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &["mcp"]);
    let begun = Instant::now();
    let (said, is_error) = client.call("run", json!({ "thread": thread, "wait": 1 }));
    assert!(!is_error && said.contains("still running"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(client.report("show", json!({ "thread": thread }))["state"], "running");
    let (said, is_error) = client.call("step", json!({ "thread": thread }));
    assert!(is_error && said.contains("busy"), "{said}");
    drop(client);
    home.file("go", "");
    until("the thread is done", || home.json(&["thread", "show", &thread])["done"] == true);
}

#[test]
fn waiting_is_not_error_and_failures_have_hints() {
    let home = counting("#!/bin/sh\nexit 3\n");
    home.config("agents:\n  me: { command: uwf-human }\n  w: { command: worker, output: json }\ndefaultAgent: me\n");
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &["mcp"]);
    let (said, is_error) = client.call("step", json!({ "thread": thread }));
    assert!(!is_error && said.contains("waiting"), "{said}");
    assert_eq!(client.report("answer", json!({ "thread": thread, "data": "{\"n\": 7}" }))["role"], "worker");
    let (said, is_error) = client.call("step", json!({ "thread": thread, "agent": "w" }));
    assert!(is_error && said.contains("agent-failed"), "{said}");
    let failed = client.ask("tools/call", &json!({ "name": "show", "arguments": { "thread": "nobody" } }));
    let report: Value = serde_json::from_str(failed["content"][0]["text"].as_str().unwrap()).expect("JSON alone");
    assert!(report["error"]["message"].is_string() && failed["isError"] == true, "{failed}");
    for (tool, arguments, why) in [
        ("show", json!({ "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAV" }), "hint"),
        ("show", json!({}), "`show` needs `thread`"),
        ("show", json!({ "thread": "@", "more": 1 }), "no argument `more`"),
        ("step", json!({ "thread": "@", "wait": "long" }), "0 to 3600"),
        ("start", json!({ "workflow": "none-such", "prompt": "x" }), "none-such"),
        ("list", json!({ "limit": "--all" }), "--all"),
    ] {
        let (said, is_error) = client.call(tool, arguments);
        assert!(is_error && said.contains(why), "{tool}: {said}");
    }
    assert!(client.report("kill", json!({ "thread": thread }))["thread"].is_string());
    assert_eq!(client.ask("tools/call", &json!({ "name": "rm", "arguments": {} }))["code"], -32602);
}

#[test]
fn read_only_client_changes_nothing() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let mut client = Client::start(&home, &["mcp", "--read-only"]);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&Value> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(json!(names), json!(["workflows", "validate", "show", "read", "why", "list"]));
    let refused = client
        .ask("tools/call", &json!({ "name": "start", "arguments": { "workflow": "count-rounds", "prompt": "x" } }));
    assert_eq!(refused["code"], -32602);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

/// A client that waits for the reply to its request would wait for ever for one without its id.
#[test]
fn an_unreadable_request_is_answered_by_its_id() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let mut client = Client::start(&home, &["mcp"]);
    let call = |id: &str, prompt: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"start","arguments":{{"workflow":"count-rounds","prompt":"{prompt}"}}}}}}"#
        )
    };
    for (id, prompt) in [
        ("7", r"half \ud83d of a pair"),
        (r#""a""#, r"the other \ude00 half"),
        ("8", r"\ud83d\ud83d"),
        (r#""b""#, r"end \ud83d"),
    ] {
        let reply = client.send(call(id, prompt).as_bytes());
        assert_eq!(reply["id"].to_string(), id, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("surrogate"), "{reply}");
    }
    let reply = client
        .send(&call("9", "not \u{1} text").bytes().map(|byte| if byte == 1 { 0xff } else { byte }).collect::<Vec<_>>());
    assert_eq!(reply["id"], 9, "{reply}");
    let reply = client.send(call("10", "x").replace("\"x\"", "1e999").as_bytes());
    assert_eq!(reply["id"], 10, "{reply}");
    let batch = format!("[{},{}]", call("11", r"\ud83d"), call("12", "fine"));
    let replies = client.send(batch.as_bytes());
    assert_eq!(json!([replies[0]["id"], replies[1]["id"], replies[2]]), json!([11, 12, null]), "{replies}");
    assert!(replies[0]["error"].is_object() && replies[1]["error"].is_object(), "{replies}");
    let broken = client.send(b"{\"id\": 13, \"method\": ");
    assert_eq!(broken["id"], Value::Null, "{broken}");
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]), "nothing was guessed");
}

#[test]
fn start_tool_takes_input() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let input = "input: { type: object, properties: { level: { enum: [low, high] } }, required: [level] }\nroles:\n";
    home.put("count-rounds", &counting_workflow(2).replacen("roles:\n", input, 1));
    let mut client = Client::start(&home, &["mcp"]);
    let started =
        client.report("start", json!({ "workflow": "count-rounds", "prompt": "x", "input": { "level": "high" } }));
    assert_eq!(client.report("show", json!({ "thread": started["thread"] }))["input"], json!({ "level": "high" }));
    let as_text = json!({ "workflow": "count-rounds", "prompt": "y", "input": "{\"level\": \"low\"}" });
    let started = client.report("start", as_text);
    assert_eq!(client.report("show", json!({ "thread": started["thread"] }))["input"], json!({ "level": "low" }));
    let (text, is_error) = client.call("start", json!({ "workflow": "count-rounds", "prompt": "x" }));
    assert!(is_error && text.contains("`level` has no value (one of low, high)"), "{text}");
    let (text, is_error) =
        client.call("start", json!({ "workflow": "count-rounds", "prompt": "x", "input": ["high"] }));
    assert!(is_error && text.contains("`input` must be an object"), "{text}");
}
