//! `uwf mcp`: the commands as tools, as a client drives them that starts the server with hardly any environment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    fn start(home: &TestHome, more: &[&str]) -> Client {
        let root = home.root();
        let mut command = home.command(&[&["mcp", "--root", root.to_str().unwrap()][..], more].concat());
        for variable in ["UNCAGED_WORKFLOW_STORAGE_ROOT", "WORKFLOW_STORAGE_ROOT"] {
            command.env_remove(variable);
        }
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Client { server, input, output, number: 0 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        assert_eq!(client.ask("initialize", &hello)["serverInfo"]["name"], "uwf");
        client
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params });
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let mut reply: Value = serde_json::from_str(&line).unwrap();
        if reply["error"].is_null() { reply["result"].take() } else { reply["error"].take() }
    }

    /// What a tool said, and whether it failed.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
    }

    /// The report of a tool that did not fail.
    fn report(&mut self, tool: &str, arguments: Value) -> Value {
        let (said, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {said}");
        serde_json::from_str(said.lines().next().unwrap()).unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.server.wait();
    }
}

fn counting(script: &str) -> TestHome {
    let home = home();
    home.worker("output: json", script);
    home.put("count-rounds", &counting_workflow(2));
    home
}

#[test]
fn an_agent_runs_a_thread_from_its_start_to_its_end() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let mut client = Client::start(&home, &[]);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["workflows", "validate", "start", "step", "run", "show", "read", "why", "answer", "list", "kill"]
    );
    assert_eq!(client.report("workflows", json!({}))[0]["name"], "count-rounds");
    assert_eq!(client.report("validate", json!({ "workflow": "count-rounds" }))[0]["valid"], true);
    // A prompt may begin with what looks like an option.
    let started =
        client.report("start", json!({ "workflow": "count-rounds", "prompt": "--help me count", "maxCost": 2.5 }));
    let thread = started["thread"].as_str().unwrap().to_owned();
    assert_eq!(client.report("step", json!({ "thread": "@" }))["role"], "worker");
    let shown = client.report("show", json!({ "thread": thread }));
    assert_eq!(json!([shown["steps"], shown["task"]]), json!([1, "--help me count"]));
    assert_eq!(client.report("run", json!({ "thread": thread }))["done"], true);
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
fn what_a_person_says_goes_back_to_the_agent_that_asks() {
    let home = counting(
        "#!/bin/sh\nif grep -q Apples; then echo '{\"n\": 1}'; else echo '{\"status\": \"needs_input\", \"question\": \"Which?\"}'; fi\n",
    );
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &[]);
    let (said, is_error) = client.call("step", json!({ "thread": thread }));
    assert!(!is_error && said.contains("Which?"), "{said}");
    client.report("answer", json!({ "thread": thread, "text": "Apples." }));
    assert_eq!(client.report("step", json!({ "thread": thread }))["role"], "worker");
}

#[test]
fn what_takes_long_goes_on_when_nobody_waits() {
    let home = counting("#!/bin/sh\ntouch working\nuntil [ -e go ]; do sleep 0.05; done\necho '{\"n\": 1}'\n");
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &[]);
    let begun = Instant::now();
    let (said, is_error) = client.call("run", json!({ "thread": thread, "wait": 1 }));
    assert!(!is_error && said.contains("still at work"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(client.report("show", json!({ "thread": thread }))["state"], "running");
    let (said, is_error) = client.call("step", json!({ "thread": thread }));
    assert!(is_error && said.contains("busy"), "{said}");
    drop(client);
    home.file("go", "");
    until("the thread is done", || home.json(&["thread", "show", &thread])["done"] == true);
}

#[test]
fn a_wait_is_news_and_a_failure_says_what_to_do() {
    let home = counting("#!/bin/sh\nexit 3\n");
    home.config("agents:\n  me: { command: uwf-human }\n  w: { command: worker, output: json }\ndefaultAgent: me\n");
    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &[]);
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
fn who_may_only_look_changes_nothing() {
    let home = counting("#!/bin/sh\necho '{\"n\": 1}'\n");
    let mut client = Client::start(&home, &["--read-only"]);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&Value> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(json!(names), json!(["workflows", "validate", "show", "read", "why", "list"]));
    let refused = client
        .ask("tools/call", &json!({ "name": "start", "arguments": { "workflow": "count-rounds", "prompt": "x" } }));
    assert_eq!(refused["code"], -32602);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}
