//! Answers of the HTTP API are as the OpenAPI document says: each operation is called, and each answer is checked.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::machine::TestMachine;
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::hooks::{COUNTING, TRIAGE, deliver, home_with_hooks, opened};
use crate::fixtures::people::staffed;
use crate::home;

/// A server, its document, and the operations that were called.
struct DescribedOperation {
    server: TestServer,
    document: Value,
    called: BTreeSet<(String, String)>,
}

impl DescribedOperation {
    fn new(server: TestServer) -> DescribedOperation {
        let document = server.get("/api/openapi.json").json();
        DescribedOperation { server, document, called: BTreeSet::new() }
    }

    /// The document's schema for an operation's answer with this status.
    fn content(&self, method: &str, path: &str, status: u16) -> &Value {
        let content = &self.document["paths"][path][method]["responses"][status.to_string()]["content"];
        assert!(content.is_object(), "{method} {path} does not say that it answers {status}");
        content
    }

    /// Checks an answer against its schema.
    fn check(&mut self, method: &str, path: &str, answer: &TestServerResponse) {
        let value = answer.json();
        let schema = &self.content(method, path, answer.status)["application/json"]["schema"];
        assert!(schema.as_object().is_some_and(|schema| !schema.is_empty()), "{method} {path}: {schema}");
        let is_report = answer.status < 202 && !OPEN.contains(&path);
        let schema = if is_report { closed(schema) } else { schema.clone() };
        let whole = json!({ "allOf": [schema], "components": self.document["components"] });
        let judge = jsonschema::draft202012::new(&whole).expect("a schema");
        let problems: Vec<String> = judge.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{method} {path} {}: {problems:#?}\n{value:#}", answer.status);
        if let (true, Value::Object(mut more)) = (is_report, value) {
            more.insert("undescribed".to_owned(), json!(1));
            assert!(!judge.is_valid(&more.into()), "{method} {path} lets any key pass");
        }
        self.called.insert((method.to_owned(), path.to_owned()));
    }

    /// Asks for a path; what is in braces in it are these values.
    fn get(&mut self, path: &str, values: &[&str]) -> Value {
        let answer = self.server.get(&format!("/api{}", filled(path, values)));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        self.check("get", path, &answer);
        answer.json()
    }

    /// Does something with a thread, which is expected at its head.
    fn act(&mut self, thread: &str, action: &str, mut fields: Value, status: u16) -> Value {
        fields["expectedHead"] = self.server.get(&format!("/api/threads/{thread}")).json()["head"].take();
        let answer = self.server.post(&format!("/api/threads/{thread}/{action}"), &fields);
        assert_eq!(answer.status, status, "{action}: {}", answer.body);
        self.check("post", &format!("/threads/{{thread}}/{action}"), &answer);
        answer.json()
    }

    /// Reads the head of an answer that is not JSON.
    fn other(&mut self, path: &str, values: &[&str]) {
        let server = &self.server;
        let headers = [("authorization", &*server.bearer())];
        let stream = server.open("GET", &format!("/api{}", filled(path, values)), &headers, "");
        let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let head: Vec<String> = lines.map(|line| line.to_lowercase()).collect();
        assert!(head[0].contains(" 200 "), "{path}: {head:?}");
        let media = self.content("get", path, 200).as_object().unwrap().keys().next().unwrap();
        assert!(head.iter().any(|line| line.starts_with(&format!("content-type: {media}"))), "{path}: {head:?}");
        self.called.insert(("get".to_owned(), path.to_owned()));
    }
}

/// Documents whose keys depend on what they describe.
const OPEN: [&str; 2] = ["/threads/{thread}/steps/{step}", "/openapi.json"];

/// The same schema for an object, or objects of an array, that have no other keys.
fn closed(schema: &Value) -> Value {
    match schema["items"].is_object() {
        true => json!({ "type": "array", "items": { "allOf": [schema["items"]], "unevaluatedProperties": false } }),
        false => json!({ "allOf": [schema], "unevaluatedProperties": false }),
    }
}

fn filled(path: &str, values: &[&str]) -> String {
    let mut values = values.iter();
    let part = |part: &str| if part.starts_with('{') { (*values.next().unwrap()).to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(20), "in time");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn counting(home: &TestHome) -> String {
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.script("broken", "#!/bin/sh\nexit 3\n");
    home.script("slow", "#!/bin/sh\nsleep 30\n");
    home.start_counting(3, "count")
}

#[test]
fn answers_fit_the_schemas_of_the_document() {
    let home = home();
    let thread = counting(&home);
    let mut api = DescribedOperation::new(TestServer::start(&home, &["--gateway"]));
    changes(&mut api, &thread);
    reads(&mut api, &home, &thread);
    gateway(&mut api, &home);
    person(&mut api);
    hook(&mut api);
    let paths = api.document["paths"].as_object().unwrap();
    let described = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(|method| (method.clone(), path.clone())).collect::<Vec<_>>()
    });
    assert_eq!(api.called, described.collect::<BTreeSet<_>>());
}

fn changes(api: &mut DescribedOperation, thread: &str) {
    api.act(thread, "step", json!({ "agent": "broken" }), 422);
    api.act(thread, "retry", json!({}), 200);
    let forked = api.act(thread, "fork", json!({}), 200);
    let fork = text(&forked, "thread");
    api.act(thread, "pause", json!({ "reason": "lunch" }), 200);
    api.act(thread, "step", json!({}), 202);
    api.act(thread, "resume", json!({}), 200);
    api.act(thread, "label", json!({ "set": "team=web" }), 200);
    api.act(thread, "limit", json!({ "steps": 9, "time": "1h", "tokens": 1000, "cost": 2.5 }), 200);
    api.act(&fork, "run", json!({ "steps": 1 }), 422);
    api.act(&fork, "run", json!({}), 200);
    let body = json!({ "workflow": "count-rounds", "prompt": "count", "run": true });
    let started = api.server.post("/api/threads", &body);
    assert_eq!(started.status, 201, "{}", started.body);
    api.check("post", "/threads", &started);
    let other =
        text(&api.server.post("/api/threads", &json!({ "workflow": "count-rounds", "prompt": "x" })).json(), "thread");
    let begun = api.act(&other, "step", json!({ "agent": "slow", "wait": 0 }), 202);
    assert_eq!(begun["thread"], other);
    until(|| api.server.get("/api/running").json()[0]["thread"] == other);
    assert_eq!(api.get("/running", &[])[0]["thread"], other);
    api.act(&other, "kill", json!({}), 200);
    api.act(thread, "step", json!({}), 200);
}

fn reads(api: &mut DescribedOperation, home: &TestHome, thread: &str) {
    assert_eq!(api.get("/threads", &[]).as_array().unwrap().len(), 4);
    let status = api.get("/threads/{thread}", &[thread]);
    let step = text(&status, "head");
    api.get("/threads/{thread}/steps", &[thread]);
    api.get("/threads/{thread}/steps/{step}", &[thread, &step]);
    api.get("/threads/{thread}/steps/{step}/why", &[thread, &step]);
    api.get("/threads/{thread}/why", &[thread]);
    api.get("/threads/{thread}/groups", &[thread]);
    api.get("/threads/{thread}/cost", &[thread]);
    assert!(!api.get("/cost", &[])["rows"].as_array().unwrap().is_empty());
    home.put("count-rounds", &uwf_testing::counting_workflow(4));
    assert_eq!(api.get("/workflows", &[])[0]["name"], "count-rounds");
    api.get("/workflows/{workflow}", &["count-rounds"]);
    assert_eq!(api.get("/workflows/{workflow}/history", &["count-rounds"]).as_array().unwrap().len(), 2);
    api.other("/workflows/{workflow}/source", &["count-rounds"]);
    let stored = api.server.post("/api/workflows", &json!({ "source": uwf_testing::counting_workflow(5) }));
    assert_eq!(stored.status, 201, "{}", stored.body);
    api.check("post", "/workflows", &stored);
    api.get("/cas/{hash}", &[&step]);
    api.get("/doctor", &[]);
    api.get("/openapi.json", &[]);
    api.other("/events", &[]);
    api.other("/threads/{thread}/events", &[thread]);
    api.other("/cost.csv", &[]);
}

fn gateway(api: &mut DescribedOperation, home: &TestHome) {
    let token = text(&home.json(&["gateway", "token", "laptop"]), "token");
    let laptop = crate::home();
    counting(&laptop);
    let url = format!("http://{}", api.server.address);
    let args = ["--name", "laptop", "--gateway", &url];
    let machine = TestMachine::start(&laptop, &args, &[("WORKFLOW_GATEWAY_TOKEN", &token)]);
    machine.says("connected to ", 1);
    assert_eq!(api.get("/gateway/threads", &[])[0]["machine"], "laptop");
    assert_eq!(api.get("/gateway/endpoints", &[])[0]["connected"], true);
    api.other("/gateway/events", &[]);
}

/// A thread in which a person plays a role, on a server of its own.
fn person(api: &mut DescribedOperation) {
    let home = staffed();
    let thread = home.start("publish-post", "Say hello.");
    let mut other = DescribedOperation::new(TestServer::start(&home, &[]));
    other.act(&thread, "step", json!({}), 200);
    other.act(&thread, "step", json!({}), 202);
    other.act(&thread, "answer", json!({ "data": { "approved": true } }), 200);
    home.put(
        "drafts",
        "name: drafts\nroles:\n  writer: { goal: Write. }\n  drafts: { play: writer, copies: 2 }\n\
         graph:\n  $START: [ { role: drafts } ]\n  drafts: [ { role: $END } ]\n",
    );
    home.script("drafter", "#!/bin/sh\ncat > /dev/null\necho A draft.\n");
    let thread = thread_of(&home.uwf(&["run", "drafts", "-p", "x", "--agent", "drafter", "--output", "text"]));
    other.act(&thread, "take", json!({ "copy": "drafts.1" }), 200);
    api.called.append(&mut other.called);
}

/// A delivery of a webhook, to a server of its own.
fn hook(api: &mut DescribedOperation) {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let mut other = DescribedOperation::new(TestServer::start(&home, &["--hooks"]));
    let (path, payload) = ("/hooks/{name}", opened(42, "It crashes"));
    let unsigned = other.server.send("POST", "/hooks/triage", &[("content-type", "application/json")], "{}");
    for (status, answer) in [
        (201, deliver(&other.server, "triage", "d-1", &payload)),
        (200, deliver(&other.server, "triage", "d-1", &payload)),
        (401, unsigned),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        other.check("post", path, &answer);
    }
    api.called.append(&mut other.called);
}
