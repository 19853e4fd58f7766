//! The MCP server, as agents start it: by a command line, with hardly any environment.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

/// An agent in Python that knows nothing of uwf but the command line of a server. It makes the calls of `calls.json`,
/// writes what it hears to `heard.json`, and answers in prose.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys

args = [os.environ["UWF_BIN"], "agent", "mcp", os.environ["UWF_THREAD"], os.environ["UWF_ROLE"]]
args += ["--root", os.environ["UNCAGED_WORKFLOW_STORAGE_ROOT"], "--attempt", os.environ["UWF_ATTEMPT"]]
server = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}, cwd="/")

def request(number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]

heard = [request(0, "initialize", {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})]
server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
for number, (method, params) in enumerate(json.load(open("calls.json")), 1):
    heard.append(request(number, method, params))
server.stdin.close()
json.dump(heard, open("heard.json", "w"))
assert server.wait() == 0
print("I have counted.")
"#;

/// Steps a thread of this workflow once with an agent that makes these calls; returns the home, the thread and what the
/// agent heard.
fn stepped(workflow: &str, calls: &Value) -> (TestHome, String, Vec<Value>) {
    let home = home();
    home.script("counter", AGENT);
    home.config("agents: { a: { command: counter, output: text } }\ndefaultAgent: a\n");
    home.file("calls.json", &calls.to_string());
    home.put("count-rounds", workflow);
    let thread = home.start("count-rounds", "count the moons");
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["role"], "worker", "{report}");
    let heard = serde_json::from_str(&fs::read_to_string(home.work().join("heard.json")).unwrap()).unwrap();
    (home, thread, heard)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!(["tools/call", { "name": tool, "arguments": arguments }])
}

/// What a tool said, with `!` before an error.
fn said(result: &Value) -> String {
    let mark = if result["isError"] == json!(true) { "! " } else { "" };
    format!("{mark}{}", result["content"][0]["text"].as_str().unwrap())
}

#[test]
fn submit_lists_errors_and_keeps_last_accepted_value() {
    let calls = json!([
        call("submit", json!({ "n": "one" })),
        call("submit", json!({ "m": 1 })),
        call("submit", json!({ "n": 1 })),
        call("submit", json!({ "n": 2 })),
        call("submit", json!({ "n": false })),
    ]);
    let (home, thread, heard) = stepped(&counting_workflow(1), &calls);
    assert_eq!(heard[0]["protocolVersion"], json!("2025-03-26"));
    let told: Vec<String> = heard[1..].iter().map(said).collect();
    assert_snapshot!(told.join("\n\n"), @r#"
    ! not accepted, nothing was kept:
    /n: expected an integer, found the string "one"

    ! not accepted, nothing was kept:
    missing key `n` (integer)

    accepted: this is the result for role `worker`; a later accepted call replaces it

    accepted: this replaces your earlier result for role `worker`; a later accepted call replaces it

    ! not accepted, nothing was kept:
    /n: expected an integer, found false
    "#);
    let told = home.last_step(&thread);
    assert_eq!(told["output"], json!({ "n": 2 }), "{told:#}");
    assert_eq!(told["detail"]["extractedBy"], "submit");
    assert_eq!(told["detail"]["raw"], "I have counted.\n");
}

#[test]
fn without_the_rung_there_is_no_submit() {
    let calls = json!([["tools/list", {}]]);
    let home = home();
    let agent = AGENT.replace("I have counted.", "---\\nn: 4\\n---").replace("server.stdin.close()", BEHIND);
    home.script("counter", &agent);
    home.config(
        "agents: { a: { command: counter, output: text, config: { mcp: true } } }\ndefaultAgent: a\nextract: { submit: false }\n",
    );
    home.file("calls.json", &calls.to_string());
    let thread = home.start_counting(1, "count the moons");
    let dry = text(&home.json(&["thread", "step", &thread, "--dry-run"]), "prompt");
    assert!(!dry.contains("submit"), "{dry}");
    home.json(&["thread", "step", &thread]);
    let heard: Value = serde_json::from_str(&fs::read_to_string(home.work().join("heard.json")).unwrap()).unwrap();
    let tools: Vec<&str> =
        heard[1]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["context", "cas_get"]);
    let refused = text(&heard[2]["error"], "message");
    assert_eq!(refused, "unknown tool `submit`; the tools are context, cas_get");
    let step = home.last_step(&thread);
    assert_eq!((&step["output"], &step["detail"]["extractedBy"]), (&json!({ "n": 4 }), &json!("frontmatter")));
}

/// Calls the tool that is not there.
const BEHIND: &str = r#"server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "submit", "arguments": {"n": 1}}}) + "\n")
server.stdin.flush()
heard.append(json.loads(server.stdout.readline()))
server.stdin.close()"#;

#[test]
fn tools_describe_step_and_read_store() {
    let calls = json!([
        ["tools/list", {}],
        call("context", json!({})),
        call("context", json!({ "steps": "all" })),
        call("cas_get", json!({ "hash": "0000000000000" })),
        call("cas_get", json!({})),
        call("submit", json!({ "n": 1 })),
    ]);
    let (home, thread, heard) = stepped(&counting_workflow(2), &calls);
    let names: Vec<&str> =
        heard[1]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["submit", "context", "cas_get"]);
    let schema = &heard[1]["tools"][0]["inputSchema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["n"])));
    let context: Value = serde_json::from_str(&said(&heard[2])).unwrap();
    assert_eq!(context["thread"], json!(thread));
    assert_eq!((&context["task"], &context["role"]), (&json!("count the moons"), &json!("worker")));
    assert_eq!((&context["steps"], &context["omittedSteps"]), (&json!([]), &json!(0)));
    assert_eq!(context["workspace"], json!(home.work()));
    assert_snapshot!(heard[3..6].iter().map(said).collect::<Vec<_>>().join("\n"), @r#"
    ! /steps: expected an integer, 0 or more, found "all"
    ! node 0000000000000 does not exist
    ! /hash: expected the hash of a node (13 symbols, 0-9 and A-Z)
    "#);

    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let calls = json!([
        call("context", json!({ "steps": 1 })),
        call("cas_get", json!({ "hash": head })),
        call("context", json!({ "step": 1 })),
        call("context", json!({ "step": 2 })),
        call("submit", json!({ "n": 1 }))
    ]);
    home.file("calls.json", &calls.to_string());
    home.json(&["thread", "step", &thread]);
    let heard: Vec<Value> = serde_json::from_str(&fs::read_to_string(home.work().join("heard.json")).unwrap()).unwrap();
    let context: Value = serde_json::from_str(&said(&heard[1])).unwrap();
    assert_eq!(context["steps"][0]["output"], json!({ "n": 1 }));
    let node: Value = serde_json::from_str(&said(&heard[2])).unwrap();
    assert_eq!(node["payload"]["role"], json!("worker"));
    let step: Value = serde_json::from_str(&said(&heard[3])).unwrap();
    assert_eq!(json!([step["index"], step["hash"], step["output"]]), json!([1, head, { "n": 1 }]));
    assert!(said(&heard[4]).starts_with("! ") && said(&heard[4]).contains("has no step 2"), "{}", said(&heard[4]));
}

/// The store sorts keys by length; `required` keeps the author's order.
#[test]
fn submit_schema_keeps_order_of_required_keys() {
    let keys = "properties: { about: { type: string }, n: { type: integer } }\n      required: [about, n]\n";
    let workflow = counting_workflow(1).replace("properties: { n: { type: integer } }\n      required: [n]\n", keys);
    assert!(workflow.contains(keys), "{workflow}");
    let calls = json!([["tools/list", {}], call("submit", json!({ "n": 1, "about": "moons" }))]);
    let (_, _, heard) = stepped(&workflow, &calls);
    let properties = heard[1]["tools"][0]["inputSchema"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["about", "n"]);
}

#[test]
fn non_object_output_is_submitted_as_value() {
    let workflow = counting_workflow(1).replace(
        "meta:\n      type: object\n      properties: { n: { type: integer } }\n      required: [n]\n",
        "meta:\n      $defs: { name: { type: string, minLength: 2 } }\n      type: array\n      items: { $ref: \"#/$defs/name\" }\n",
    );
    assert!(workflow.contains("#/$defs/name"), "{workflow}");
    let calls = json!([
        ["tools/list", {}],
        call("submit", json!({ "value": ["io", "x"] })),
        call("submit", json!({ "names": [] })),
        call("submit", json!({ "value": ["io", "europa"] })),
    ]);
    let (home, thread, heard) = stepped(&workflow, &calls);
    let schema = &heard[1]["tools"][0]["inputSchema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["value"])));
    assert_eq!(schema["properties"]["value"]["items"]["$ref"], json!("#/properties/value/$defs/name"));
    assert_snapshot!(heard[2..].iter().map(said).collect::<Vec<_>>().join("\n"), @r#"
    ! not accepted, nothing was kept:
    /value/1: expected at least 2 characters, found 1
    ! not accepted, nothing was kept:
    expected an array, found an object
    accepted: this is the result for role `worker`; a later accepted call replaces it
    "#);
    assert_eq!(home.last_step(&thread)["output"], json!(["io", "europa"]));
}

#[test]
fn server_survives_noise_and_rejects_submit_outside_step() {
    let home = home();
    let thread = home.start_counting(1, "count");
    let mut server = home
        .command(&["agent", "mcp", &thread, "worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let submit = json!({ "id": 1, "method": "tools/call", "params": { "name": "submit", "arguments": { "n": 1 } } });
    stdin.write_all(format!("hello\n\n{submit}\n{{\"id\":2,\"method\":\"ping\"}}").as_bytes()).unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r#"
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON: expected value at line 1 column 1"}}
    {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"results can be submitted only within a step"}],"isError":true}}
    {"jsonrpc":"2.0","id":2,"result":{}}
    "#);
}

#[test]
fn oversized_message_is_rejected_and_next_one_served() {
    let home = home();
    let thread = home.start_counting(1, "count");
    let mut server = home
        .command(&["agent", "mcp", &thread, "worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let huge = vec![b'x'; (16 << 20) + 1];
    stdin.write_all(&huge).unwrap();
    stdin.write_all(b"\n{\"id\":2,\"method\":\"ping\"}\n").unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r#"
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most 16777216 bytes, this one has 16777217"}}
    {"jsonrpc":"2.0","id":2,"result":{}}
    "#);
}
