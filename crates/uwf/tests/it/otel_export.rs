//! `uwf otel export`, and `otel` of config.yaml: what threads did, as spans for a collector of OpenTelemetry.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, text};

use crate::fixtures::child_threads::{AGENTS, checker, child_of, go, planned, spawn, staffed};
use crate::fixtures::collector::{Collector, Received, ScriptedCollector};
use crate::home;

const COUNT: &str = "#!/bin/sh\n[ -e fail ] && { echo the output of it >&2; exit 3; }\necho '{\"n\": 1}'\n";

fn counting(otel: &str) -> TestHome {
    let home = home();
    home.script("worker", COUNT);
    home.config(&format!("agents:\n  w: {{ command: worker, output: json }}\ndefaultAgent: w\n{otel}"));
    home
}

/// The spans of a request.
fn spans(request: &Value) -> Vec<Value> {
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn printed(home: &TestHome, args: &[&str]) -> Vec<Value> {
    spans(&home.json(&[&["otel", "export", "--print"], args].concat()))
}

/// Attributes of a span, their values as they are.
fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let attributes = span["attributes"].as_array().unwrap().iter();
    let value = |value: &Value| value.as_object().unwrap().values().next().unwrap().clone();
    attributes.map(|attribute| (text(attribute, "key"), value(&attribute["value"]))).collect()
}

/// What was noted of sending: the texts, newest last.
fn noted(home: &TestHome, thread: &str) -> Vec<String> {
    let ran = home.uwf(&["log", thread, "--tag", "otel", "--format", "json"]);
    ran.stdout.lines().map(|line| text(&serde_json::from_str(line).unwrap(), "content")).collect()
}

fn noted_once(home: &TestHome, thread: &str, what: &str) {
    until(&format!("it is noted that {what}"), || noted(home, thread).iter().any(|note| note.contains(what)));
}

/// Names of spans below each other, with what is known of them, in the order of their times.
fn tree(spans: &[Received]) -> String {
    fn below(spans: &[Received], parent: &str, depth: usize, text: &mut String) {
        let mut own: Vec<&Received> = spans.iter().filter(|span| span.parent == parent).collect();
        own.sort_by_key(|span| (span.begun_at, span.ended_at));
        for span in own {
            let failed = if span.has_failed { " (failed)" } else { "" };
            text.push_str(&format!("{}{}{failed}\n", "  ".repeat(depth), span.name));
            below(spans, &span.id, depth + 1, text);
        }
    }
    let mut text = String::new();
    below(spans, "", 0, &mut text);
    text
}

#[test]
fn printed_spans_are_deterministic() {
    let home = counting("");
    let thread = home.start_counting(1, "count the moons");
    home.file("fail", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    fs::remove_file(home.work().join("fail")).unwrap();
    home.json(&["run", &thread]);
    let spans = printed(&home, &[&thread]);
    assert_eq!(spans, printed(&home, &[&thread]));
    let shown: Vec<Value> = spans.iter().map(|span| json!([span["name"], attributes(span), span["status"]])).collect();
    let lines: Vec<String> = shown.iter().map(|span| home.steady(&span.to_string())).collect();
    assert_snapshot!(uwf_testing::numbered(&lines.join("\n")), @r##"
    ["invoke_agent w",{"error.type":"exit_code_3","gen_ai.agent.id":"#1","gen_ai.agent.name":"w","gen_ai.conversation.id":"<id>","gen_ai.operation.name":"invoke_agent","gen_ai.provider.name":"worker","uwf.attempt.exit_code":"3","uwf.node":"#2","uwf.role":"worker"},{"code":2,"message":"the agent exited with 3"}]
    ["invoke_agent w",{"error.type":"exit_code_3","gen_ai.agent.id":"#1","gen_ai.agent.name":"w","gen_ai.conversation.id":"<id>","gen_ai.operation.name":"invoke_agent","gen_ai.provider.name":"worker","uwf.attempt.exit_code":"3","uwf.node":"#2","uwf.role":"worker"},{"code":2,"message":"the agent exited with 3"}]
    ["invoke_agent w",{"gen_ai.agent.id":"#1","gen_ai.agent.name":"w","gen_ai.conversation.id":"<id>","gen_ai.operation.name":"invoke_agent","gen_ai.provider.name":"worker","uwf.extracted_by":"submit","uwf.node":"#3","uwf.role":"worker","uwf.step":"1"},null]
    ["invoke_workflow count-rounds",{"gen_ai.conversation.id":"<id>","gen_ai.operation.name":"invoke_workflow","gen_ai.workflow.name":"count-rounds","uwf.thread.outcome":"succeeded","uwf.thread.reason":"end","uwf.thread.status":"completed","uwf.workflow.hash":"#4"},null]
    "##);
    let time = |span: &Value, key: &str| text(span, key).parse::<u64>().unwrap();
    let root = spans.iter().find(|span| span["name"] == "invoke_workflow count-rounds").unwrap();
    for span in &spans {
        let [begun, ended] = ["startTimeUnixNano", "endTimeUnixNano"].map(|key| time(span, key));
        assert!(time(root, "startTimeUnixNano") <= begun && begun <= ended && ended <= time(root, "endTimeUnixNano"));
    }
    // As it is while the thread continues: without the span of the thread.
    let open = home.start("count-rounds", "count");
    home.file("fail", "");
    assert_eq!(home.uwf(&["thread", "step", &open]).code, Some(40));
    let names: Vec<Value> = printed(&home, &[&open]).iter().map(|span| span["name"].clone()).collect();
    assert_eq!(names, ["invoke_agent w"]);
    home.json(&["thread", "kill", &open]);
    let killed = printed(&home, &[&open]);
    let root = killed.iter().find(|span| span["name"] == "invoke_workflow count-rounds").unwrap();
    assert_eq!(json!([root["status"]["code"], attributes(root)["error.type"]]), json!([2, "killed"]));
}

#[test]
fn content_is_opt_in_and_redacted() {
    let model = LlmServer::start([
        ScriptedAnswer::text("I look at key-0123456789.")
            .and_call("shell_exec", json!({ "command": "echo $UWF_ROLE" })),
        ScriptedAnswer::text("---\nn: 1\n---\nDone."),
    ]);
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  a: {{ command: uwf-react }}\ndefaultAgent: a\ndefaultModel: m\nsecrets: [MY_KEY]\n",
        model.url()
    ));
    fs::write(home.root().join(".env"), "MY_KEY=key-0123456789\n").unwrap();
    let thread = home.start_counting(1, "count the moons with key-0123456789");
    home.json(&["run", &thread]);
    let without = home.uwf(&["otel", "export", &thread, "--print"]).stdout;
    for text in ["moons", "I look", "echo", "worker\\n", "0123456789"] {
        assert!(!without.contains(text), "{text} is in {without}");
    }
    let with = printed(&home, &[&thread, "--content"]);
    assert!(!json!(with).to_string().contains("key-0123456789"));
    let of = |name: &str, key: &str| {
        let span = with.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no {name} in {with:?}"));
        attributes(span)[key].as_str().unwrap().to_owned()
    };
    assert_eq!(
        serde_json::from_str::<Value>(&of("invoke_workflow count-rounds", "gen_ai.input.messages")).unwrap(),
        json!([{"role": "user", "parts": [{"type": "text", "content": "count the moons with [redacted MY_KEY]"}]}])
    );
    assert_eq!(of("execute_tool shell_exec", "gen_ai.tool.call.arguments"), "{\"command\":\"echo $UWF_ROLE\"}");
    assert_eq!(of("execute_tool shell_exec", "gen_ai.tool.call.result"), "exit 0\nworker\n");
    let said: Value = serde_json::from_str(&of("chat scripted-model", "gen_ai.output.messages")).unwrap();
    assert_eq!(said[0]["parts"][0]["content"], "I look at [redacted MY_KEY].");
    let input: Value = serde_json::from_str(&of("chat scripted-model", "gen_ai.input.messages")).unwrap();
    assert!(input.to_string().contains("count the moons"), "{input}");
}

#[test]
fn collector_errors_never_delay_or_fail_steps() {
    let silent = ScriptedCollector::answering(None);
    let refusing = ScriptedCollector::answering(Some((401, "who are you?")));
    let faulty = ScriptedCollector::answering(Some((500, "oh no")));
    let picky = ScriptedCollector::answering(Some((
        200,
        "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\"}}",
    )));
    let cases = [
        (silent.endpoint(), "not done within the total timeout"),
        (refusing.endpoint(), "refuses access (401): who are you?"),
        (faulty.endpoint(), "answered 500: oh no"),
        (picky.endpoint(), "1 spans were rejected: too old"),
        ("http://127.0.0.1:9".to_owned(), "cannot talk to http://127.0.0.1:9/v1/traces"),
        ("https://127.0.0.1:9".to_owned(), "cannot talk to https://127.0.0.1:9/v1/traces"),
    ];
    // Most of the time they wait, so they run at once.
    std::thread::scope(|scope| {
        for (endpoint, what) in &cases {
            scope.spawn(|| collector_error_is_noted(endpoint, what));
        }
    });
}

/// A collector with an error delays no thread. A note names the error, and the spans can be sent again.
fn collector_error_is_noted(endpoint: &str, what: &str) {
    let home = counting(&format!("otel: {{ endpoint: \"{endpoint}\" }}\n"));
    let thread = home.start_counting(1, "count");
    let begun = Instant::now();
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0), "{endpoint}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{endpoint} kept the step waiting");
    noted_once(&home, &thread, what);
    let note = noted(&home, &thread).pop().unwrap();
    assert!(note.contains(&format!("`uwf otel export {thread}` sends all spans again")), "{note}");
    let good = ScriptedCollector::answering(Some((200, "{}")));
    let report = home.json(&["otel", "export", &thread, "--endpoint", &good.endpoint()]);
    assert_eq!(report["spans"], 2);
    let (head, body) = good.requests().pop().unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert_eq!(spans(&body), printed(&home, &[&thread]));
}

#[test]
fn each_step_sends_its_spans_with_configured_headers() {
    let collector = ScriptedCollector::answering(Some((200, "{}")));
    let home = counting(&format!(
        "otel:\n  endpoint: \"{}/v1/traces\"\n  headers: {{ x-team: blue }}\n  headersEnv: {{ authorization: OTLP_AUTH }}\n",
        collector.endpoint()
    ));
    fs::write(home.root().join(".env"), "OTLP_AUTH=\"Bearer abcdefgh\"\n").unwrap();
    let thread = home.start_counting(3, "count");
    home.file("fail", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    fs::remove_file(home.work().join("fail")).unwrap();
    until("the failed attempt is sent", || collector.requests().len() == 1);
    for sent in 2..5 {
        home.json(&["thread", "step", &thread]);
        until("the step is sent", || collector.requests().len() == sent);
    }
    let names: Vec<Vec<Value>> = collector
        .requests()
        .iter()
        .map(|(_, body)| spans(body).iter().map(|span| span["name"].clone()).collect())
        .collect();
    let agent = "invoke_agent w";
    assert_eq!(json!(names), json!([[agent], [agent], [agent], [agent, "invoke_workflow count-rounds"]]));
    let all: Vec<Value> = collector.requests().iter().flat_map(|(_, body)| spans(body)).collect();
    let sorted = |mut spans: Vec<Value>| {
        spans.sort_by_key(|span| text(span, "spanId"));
        spans
    };
    assert_eq!(sorted(all), sorted(printed(&home, &[&thread])), "each span was sent once");
    let head = collector.requests()[0].0.to_ascii_lowercase() + "\r\n";
    assert!(head.contains("\r\nx-team: blue\r\n") && head.contains("\r\nauthorization: bearer abcdefgh\r\n"), "{head}");
    // Whoever repeats a header does not get it into the log, and another collector does not get it at all.
    let other = ScriptedCollector::answering(Some((400, "I do not like Bearer abcdefgh")));
    let ran = home.uwf(&["otel", "export", &thread, "--endpoint", &other.endpoint()]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(!other.requests()[0].0.contains("abcdefgh"));
    home.json(&["config", "set", "otel.endpoint", &other.endpoint()]);
    let ran = home.uwf(&["otel", "export", &thread]);
    assert!(ran.stderr.contains("I do not like [redacted authorization]"), "{ran:?}");
    fs::write(home.root().join(".env"), "").unwrap();
    let ran = home.uwf(&["otel", "export", &thread]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.stderr.contains("OTLP_AUTH is not set, which holds a header for `otel`"), "{ran:?}");
}

#[test]
fn export_failures_are_reported() {
    let home = counting("");
    let thread = home.start_counting(2, "count");
    home.json(&["thread", "step", &thread]);
    assert_snapshot!(home.transcript(&["otel", "export", &thread]), @"
    exit 78
    --- stderr
    error: no collector is configured to send spans to
    hint: `uwf config set otel.endpoint http://localhost:4318`, then each step sends its spans
    hint: or once: --endpoint URL; --print shows what would be sent
    ");
    assert_snapshot!(home.transcript(&["otel", "export", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--print"]), @"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(home.transcript(&["otel", "export", &thread, "--endpoint", "localhost:4318"]), @"
    exit 64
    --- stderr
    error: `localhost:4318` is not the address of a collector
    hint: write it as http://localhost:4318; `/v1/traces` is added
    ");
    assert_snapshot!(home.transcript(&["otel", "export", &thread, "--endpoint", "http://127.0.0.1:9"]), @"
    exit 74
    --- stderr
    error: cannot talk to http://127.0.0.1:9/v1/traces: Connection refused (os error 111)
    hint: check that a collector listens there for OTLP over HTTP (port 4318, not 4317)
    ");
    // What lies below a step and is not readable is missing, and said; a step that is not readable is an error.
    let detail = text(&home.json(&["thread", "steps", &thread])["steps"][1], "detail");
    let node = home.root().join(format!("cas/{detail}.bin"));
    let bytes = fs::read(&node).unwrap();
    fs::write(&node, "broken").unwrap();
    let ran = home.uwf(&["otel", "export", &thread, "--print"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(&detail), "{ran:?}");
    assert_eq!(spans(&serde_json::from_str(&ran.stdout).unwrap()).len(), 1);
    fs::write(&node, bytes).unwrap();
    let head = home.head(&thread).unwrap();
    fs::write(home.root().join(format!("cas/{head}.bin")), "broken").unwrap();
    let ran = home.uwf(&["otel", "export", &thread, "--print"]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    assert!(ran.stderr.contains(&head), "{ran:?}");
}

#[test]
fn fork_has_own_trace_from_fork_point() {
    let home = counting("");
    let thread = home.start_counting(2, "count");
    home.json(&["run", &thread]);
    let first = text(&home.json(&["thread", "steps", &thread])["steps"][1], "hash");
    let fork = text(&home.json(&["thread", "fork", &first]), "thread");
    home.json(&["run", &fork]);
    let [whole, own] = [&thread, &fork].map(|id| printed(&home, &[id]));
    assert_eq!((whole.len(), own.len()), (3, 2));
    assert_ne!(whole[0]["traceId"], own[0]["traceId"]);
    let ids = |spans: &[Value]| spans.iter().map(|span| text(span, "spanId")).collect::<Vec<_>>();
    assert!(ids(&own).iter().all(|id| !ids(&whole).contains(id)));
}

#[test]
fn child_spans_follow_parent_step_or_kill() {
    let collector = ScriptedCollector::answering(Some((200, "{}")));
    let home = staffed();
    home.config(&format!("{AGENTS}otel: {{ endpoint: \"{}\" }}\n", collector.endpoint()));
    let thread = planned(&home);
    until("the first step is sent", || collector.requests().len() == 1);
    let mut run = spawn(&home, &["run", &thread]);
    let _ = checker(&home);
    let child = child_of(&home, &thread);
    home.json(&["thread", "kill", &thread]);
    run.wait().unwrap();
    until("both threads are sent", || collector.requests().len() == 3);
    let sent: Vec<Value> = collector.requests().iter().flat_map(|(_, body)| spans(body)).collect();
    let of = |thread: &str| {
        let own = sent.iter().filter(|span| attributes(span)["gen_ai.conversation.id"] == thread);
        own.map(|span| json!([span["name"], span["status"]["code"]])).collect::<Vec<_>>()
    };
    let killed = |name: &str| json!([format!("invoke_workflow {name}"), 2]);
    assert_eq!(
        of(&child),
        [json!(["invoke_agent says", null]), killed("write-code"), json!(["invoke_agent checks", 2])]
    );
    assert_eq!(
        of(&thread),
        [json!(["invoke_agent says", null]), killed("ship-change"), json!(["invoke_agent inner", 2])]
    );
    assert!(sent.iter().all(|span| span["traceId"] == sent[0]["traceId"]), "{sent:?}");
}

#[test]
fn running_thread_exports_completed_steps() {
    let collector = ScriptedCollector::answering(Some((200, "{}")));
    let home = home();
    home.worker("output: json", "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\nrm go\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    let export = ["otel", "export", &thread, "--endpoint", &collector.endpoint()];
    let mut run = spawn(&home, &["run", &thread]);
    let is_in_step = |steps: u64| {
        let shown = home.json(&["thread", "show", &thread]);
        shown["state"] == "running" && shown["steps"] == steps
    };
    until("the first step runs", || is_in_step(0));
    assert_snapshot!(home.transcript(&[&export[..], &["--format", "text"]].concat()), @"
    exit 0
    nothing was sent: no step of the thread is done, and no attempt has failed
    ");
    assert!(collector.requests().is_empty());
    go(&home);
    until("the second step runs", || is_in_step(1));
    let report = home.json(&export);
    assert_eq!(json!([report["spans"], report["ended"]]), json!([1, false]));
    go(&home);
    assert!(run.wait().unwrap().success());
    assert_eq!(home.json(&export)["spans"], 3);
}

#[test]
fn attempt_asking_person_has_span_without_error() {
    let collector = ScriptedCollector::answering(Some((200, "{}")));
    let home = home();
    home.worker(
        "output: text",
        "#!/bin/sh\ngrep -q SQLite && { printf -- '---\\nn: 2\\n---\\nDone.\\n'; exit; }\n\
         printf -- '---\\nstatus: needs_input\\n---\\nWhich database?\\n'\n",
    );
    home.json(&["config", "set", "otel.endpoint", &collector.endpoint()]);
    let thread = home.start_counting(1, "choose");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    until("the attempt is sent", || collector.requests().len() == 1);
    let [asked] = &spans(&collector.requests()[0].1)[..] else { panic!("it is one span") };
    assert_eq!((&asked["name"], &asked["status"]), (&json!("invoke_agent w"), &Value::Null));
    assert!(!attributes(asked).contains_key("error.type"), "{asked}");
    home.json(&["thread", "answer", &thread, "-m", "SQLite"]);
    home.uwf(&["run", &thread]);
    let names: Vec<Value> =
        printed(&home, &[&thread]).iter().map(|span| json!([span["name"], span["status"]])).collect();
    assert_eq!(
        names,
        [
            json!(["invoke_agent w", null]),
            json!(["invoke_agent w", null]),
            json!(["invoke_workflow count-rounds", null])
        ]
    );
}

#[test]
fn bad_settings_are_refused_with_their_place() {
    let home = home();
    home.config(
        "otel:\n  endpoint: localhost:4318\n  headers: { authorization: Bearer sk-0123456789abcdef, 'a b': c }\n  headersEnv: { x: not-a-name! }\n  endpiont: x\n",
    );
    let ran = home.uwf(&["config", "validate"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap().iter();
    let lines: Vec<String> =
        problems.map(|problem| format!("{} {}", problem["line"], text(problem, "message"))).collect();
    assert_snapshot!(lines.join("\n"), @"
    2 `endpoint` is `localhost:4318`, which is not an address
    3 the value of `authorization` looks like a secret
    3 `a b` is not the name of a header
    4 `headersEnv.x` holds something that is not the name of an environment variable
    5 the key `endpiont` is not known here and is ignored
    ");
    home.config("otel: { headers: {} }\n");
    let ran = home.uwf(&["config", "validate"]);
    assert!(ran.stdout.contains("the collector `otel` has no `endpoint`"), "{ran:?}");
}

mod with_tools {
    use super::*;

    #[test]
    fn real_collector_receives_thread_as_one_trace() {
        let model = LlmServer::start([
            ScriptedAnswer::text("First I look.").and_call("shell_exec", json!({ "command": "echo seen" })),
            ScriptedAnswer::text("---\ntext: a plan\n---\nDone."),
        ]);
        let home = staffed();
        let collector = Collector::start(&home);
        let agents = AGENTS
            .replace(
                "  inner:",
                "  thinker: { command: uwf-react }\n  teller: { command: teller, output: json }\n  inner:",
            )
            .replace("build: inner", "plan: thinker, build: inner, tell: teller");
        home.config(&format!(
            "{agents}providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         defaultModel: m\notel: {{ endpoint: \"{}\" }}\n",
            model.url(),
            collector.endpoint()
        ));
        home.script("teller", "#!/bin/sh\n[ -e fixed ] || exit 3\necho '{\"text\": \"told\"}'\n");
        go(&home);
        let thread = home.start("ship-change", "Cross the river.");
        assert_eq!(home.uwf(&["run", &thread]).code, Some(40));
        collector.spans(9);
        home.file("fixed", "");
        home.json(&["run", &thread]);
        let spans = collector.spans(11);
        assert_snapshot!(tree(&spans), @"
    invoke_workflow ship-change
      invoke_agent thinker
        chat scripted-model
          execute_tool shell_exec
        chat scripted-model
      invoke_agent uwf-workflow
        invoke_workflow write-code
          invoke_agent says
          invoke_agent checks
      invoke_agent teller (failed)
      invoke_agent teller
    ");
        assert!(spans.iter().all(|span| span.trace == spans[0].trace), "{spans:#?}");
        let again = collector.spans_of(11, || {
            let report = home.json(&["otel", "export", &thread]);
            assert_eq!(json!([report["traceId"], report["spans"], report["ended"]]), json!([spans[0].trace, 11, true]));
        });
        let ids = |spans: &[Received]| {
            let mut ids: Vec<_> = spans.iter().map(|span| (span.id.clone(), span.clone())).collect();
            ids.sort_by(|a, b| a.0.cmp(&b.0));
            ids
        };
        assert_eq!(ids(&again), ids(&spans), "all of it is the same when it is sent again");
        let child = child_of(&home, &thread);
        let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
        assert_eq!(named("invoke_workflow write-code").attributes["gen_ai.conversation.id"], format!("Str({child})"));
        let chat = named("chat scripted-model");
        let told: Vec<String> =
            ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.usage.input_tokens"]
                .map(|key| chat.attributes[key].clone())
                .into();
        assert_eq!(
            (told.join(" "), chat.kind.as_str()),
            ("Str(chat) Str(p) Str(scripted-model) Int(11)".to_owned(), "SPAN_KIND_CLIENT")
        );
        let all = fs::read_to_string(home.root().parent().unwrap().join("collector.log")).unwrap();
        for text in ["Cross the river", "First I look", "echo seen", "a bridge"] {
            assert!(!all.contains(text), "no content is sent: {text}");
        }
    }
}
