//! Free text that begins with a dash: a task, a reason, an answer. It is never taken for an option, by any command that passes it on.
//! Only the exact name of an option is refused behind an option that takes a text, unless a `=` joins them.

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::mcp_client::Client;
use crate::home;

/// Lists and headers as people write them, and texts that look like options of uwf.
const TASKS: [&str; 6] = ["- fix it", "---\ntitle: x\n---\nfix it", "--", "--format", "-p", "--cwd=/nowhere"];

fn counting_home() -> TestHome {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > prompt\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(1));
    home
}

fn task(home: &TestHome, thread: &str) -> Value {
    home.json(&["thread", "eval", thread, "start.prompt"])
}

#[test]
fn a_task_begins_with_a_dash() {
    let home = counting_home();
    for given in TASKS {
        let started = text(&home.json(&["thread", "start", "count-rounds", &format!("-p={given}")]), "thread");
        assert_eq!(task(&home, &started), json!(given));
        let ran = home.uwf(&["run", "count-rounds", &format!("--prompt={given}")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(task(&home, &text(&ran.json(), "thread")), json!(given));
        let told = std::fs::read_to_string(home.work().join("prompt")).unwrap();
        assert!(told.contains(given), "the agent is told the task: {told}");
        let forked = text(&home.json(&["thread", "fork", &started, &format!("-p={given}")]), "thread");
        assert_eq!(task(&home, &forked), json!(given));
    }
}

/// `-p --no-ask` is probably a task that was forgotten.
#[test]
fn option_in_place_of_text_is_refused() {
    let home = counting_home();
    let thread = home.start("count-rounds", "x");
    let before = home.json(&["thread", "list", "--all"]);
    for (line, option, text, path) in [
        ("run count-rounds -p --no-ask", "-p", "--no-ask", "run"),
        ("run count-rounds --prompt --steps=1", "--prompt", "--steps=1", "run"),
        ("run count-rounds -p -p", "-p", "-p", "run"),
        ("run -p --format count-rounds", "-p", "--format", "run"),
        ("run count-rounds -p --help", "-p", "--help", "run"),
        ("thread start count-rounds -p --no-ask", "-p", "--no-ask", "thread start"),
        ("thread fork THREAD -p --max-cost", "-p", "--max-cost", "thread fork"),
        ("thread pause THREAD --reason --format", "--reason", "--format", "thread pause"),
        ("thread answer THREAD -m --exit-code", "-m", "--exit-code", "thread answer"),
        ("thread take THREAD drafts.1 -m --message", "-m", "--message", "thread take"),
        (
            "schedule create s --workflow count-rounds --cron @daily -p --workflow",
            "-p",
            "--workflow",
            "schedule create",
        ),
    ] {
        let line = line.replace("THREAD", &thread);
        let ran = home.uwf(&line.split(' ').collect::<Vec<_>>());
        let error = format!("error: `{option}` has no text: `{text}` is an option of `uwf {path}`\n");
        assert_eq!((ran.code, ran.stderr.starts_with(&error)), (Some(64), true), "{line}: {}", ran.transcript());
        assert!(ran.stderr.ends_with(&format!("hint: if `{text}` is the text: {option}={text}\n")), "{}", ran.stderr);
    }
    assert_eq!(home.json(&["thread", "list", "--all"]), before, "nothing was started");
    for task in ["- fix it", "---", "--no-such-option", "--no-ask please", "--"] {
        let ran = home.uwf(&["run", "count-rounds", "-p", task]);
        assert_eq!((ran.code, ran.stderr.contains("warning")), (Some(0), false), "{}", ran.transcript());
    }
}

#[test]
fn other_free_text_begins_with_a_dash() {
    let home = counting_home();
    let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "- fix it"]), "thread");
    home.json(&["thread", "pause", &thread, "--reason", "- lunch"]);
    assert_eq!(home.json(&["thread", "show", &thread])["why"], "- lunch");
    let found = home.json(&["thread", "list", "--search", "- fix"]);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(home.json(&["thread", "list", "--search", "--none"]), json!([]));
    assert_eq!(home.json(&["thread", "eval", &thread, "-$count(steps)"]), json!(0));
}

#[test]
fn an_answer_begins_with_a_dash() {
    let home = home();
    home.config("agents:\n  me: { command: uwf-human }\ndefaultAgent: me\n");
    home.put("approve", "name: approve\nroles:\n  person: { goal: Say, meta: { type: object, properties: { said: { type: string } }, required: [said] } }\ngraph:\n  $START: [ { role: person } ]\n  person: [ { role: $END } ]\n");
    for (option, given) in [("-m", "- no\n- not yet"), ("--message", "---\nsaid: no\n---\n")] {
        let thread = home.start("approve", "x");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        let ran = home.uwf(&["thread", "answer", &thread, option, given]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn the_apis_pass_dashes_on() {
    let home = counting_home();
    let server = TestServer::start(&home, &[]);
    let mut client = Client::start(&home, &["mcp"]);
    for given in TASKS {
        let request = json!({ "workflow": "count-rounds", "prompt": given });
        let by_api = home.json(&["api", "POST", "/threads", "--data", &request.to_string()]);
        assert_eq!(task(&home, &text(&by_api, "thread")), json!(given));
        let by_http = server.post("/api/threads", &request);
        assert_eq!(by_http.status, 201, "{by_http:?}");
        let thread = text(&by_http.json(), "thread");
        assert_eq!(task(&home, &thread), json!(given));
        assert_eq!(task(&home, &text(&client.report("start", request), "thread")), json!(given));
        let head = home.json(&["thread", "show", &thread])["head"].clone();
        let paused =
            server.post(&format!("/api/threads/{thread}/pause"), &json!({ "expectedHead": head, "reason": given }));
        assert_eq!(paused.status, 200, "{paused:?}");
        let forked =
            server.post(&format!("/api/threads/{thread}/fork"), &json!({ "expectedHead": head, "prompt": given }));
        assert_eq!(task(&home, &text(&forked.json(), "thread")), json!(given));
    }
    let dash = client.report("start", json!({ "workflow": "count-rounds", "prompt": "-" }));
    assert_eq!(task(&home, &text(&dash, "thread")), json!("-"), "a value is never stdin");
    let data = home.uwf(&["api", "POST", "/threads", "--data", "-1"]);
    assert!(data.stderr.contains("JSON object") || data.stdout.contains("JSON object"), "{data:?}");
}

#[test]
fn a_child_workflow_gets_dashes_too() {
    let home = counting_home();
    let flow = |name: &str, role: &str| {
        format!(
            "name: {name}\nroles:\n  {role}: {{ goal: Count, meta: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }} }}\ngraph:\n  $START: [ {{ role: {role} }} ]\n  {role}: [ {{ role: $END }} ]\n"
        )
    };
    home.put("outer", &flow("outer", "delegate"));
    home.config("agents:\n  w: { command: worker, output: json }\n  inner: { command: uwf-workflow, args: [count-rounds] }\ndefaultAgent: w\nagentOverrides: { outer: { delegate: inner } }\n");
    for given in TASKS {
        let ran = home.uwf(&["run", "outer", &format!("-p={given}")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = std::fs::read_to_string(home.work().join("prompt")).unwrap();
        assert!(told.contains(given), "the child's agent is told the task: {told}");
    }
}
