//! Values that would change on their way into the store: two equal keys, of which the last would count, and whole numbers that a double
//! rounds. They are refused on every way in.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::server::TestServer;

use crate::fixtures::mocked::mock;
use crate::home;

/// Outputs as their writer sees them, and as a careless reader would store them.
const CHANGING: [&str; 4] = [
    r#"{"approved": false, "approved": true}"#,
    r#"{"approved": true, "id": 9007199254740993}"#,
    r#"{"approved": true, "id": 36893488147419103233}"#,
    r#"{"approved": true, "more": {"id": 9007199254740993.0}}"#,
];

const REVIEW: &str = "name: review\ndescription: x\nroles:\n  reviewer:\n    description: x\n    goal: Review it.\n    meta:\n      type: object\n      \
                      properties: { approved: { type: boolean }, id: { type: number }, more: { type: object } }\n      required: [approved]\n\
                      graph:\n  $START: [ { role: reviewer } ]\n  reviewer: [ { role: $END } ]\n";

fn thread(home: &TestHome) -> String {
    home.put("review", REVIEW);
    home.start("review", "Review it.")
}

/// A thread that waits for a person.
fn waiting() -> (TestHome, String) {
    let home = home();
    home.config("agents: { person: { command: uwf-human } }\ndefaultAgent: person\n");
    let thread = thread(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    (home, thread)
}

/// Steps a thread whose agent prints or submits a changing value: nothing is stored.
fn step_is_refused(home: &TestHome, thread: &str, what: &str) {
    let ran = home.uwf(&["thread", "step", thread]);
    assert!(matches!(ran.code, Some(40 | 41)), "{what}: {}", ran.transcript());
    assert_eq!(home.json(&["thread", "show", thread])["steps"], 0, "{what}");
}

#[test]
fn people_cannot_give_changing_values() {
    let (home, thread) = waiting();
    for value in CHANGING {
        let file = home.file("answer.json", value).display().to_string();
        for args in [["--data", value], ["--file", &file], ["-m", value]] {
            let ran = home.uwf(&[&["thread", "answer", &thread][..], &args].concat());
            assert_eq!(ran.code, Some(41), "{args:?}: {}", ran.transcript());
        }
    }
    let ran = home.uwf(&["thread", "answer", &thread, "-m", "approved: true\nid: 9007199254740993"]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert!(ran.stderr.contains("9007199254740993 can't be kept exactly"), "{}", ran.stderr);
}

#[test]
fn server_refuses_changing_answers() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &[]);
    let head = home.head(&thread).unwrap();
    for value in CHANGING {
        let body = format!(r#"{{"expectedHead": "{head}", "data": {value}}}"#);
        let headers = [("authorization", &*server.bearer()), ("content-type", "application/json")];
        let answer = server.send("POST", &format!("/api/threads/{thread}/answer"), &headers, &body);
        assert!((400..500).contains(&answer.status), "{value}: {answer:?}");
    }
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 0);
}

#[test]
fn printed_changing_values_are_no_answer() {
    for (value, settings) in CHANGING.iter().flat_map(|value| [(value, "output: json"), (value, "output: text")]) {
        let home = home();
        home.worker(settings, &format!("#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{value}\nEND\n"));
        step_is_refused(&home, &thread(&home), &format!("{settings} {value}"));
    }
    let home = home();
    home.worker(
        "output: text",
        "#!/bin/sh\ncat > /dev/null\nprintf -- '---\\napproved: true\\nid: 9007199254740993\\n---\\nDone.\\n'\n",
    );
    step_is_refused(&home, &thread(&home), "header");
}

#[test]
fn submitted_changing_values_are_refused() {
    for value in CHANGING {
        let home = home();
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"submit","arguments":{value}}}}}"#
        );
        home.file("call.json", &format!("{call}\n"));
        home.worker(
            "output: text",
            "#!/bin/sh\ncat > /dev/null\n\"$UWF_BIN\" agent mcp \"$UWF_THREAD\" \"$UWF_ROLE\" < call.json > reply.json\necho done\n",
        );
        step_is_refused(&home, &thread(&home), value);
        let reply: Value = serde_json::from_str(&fs::read_to_string(home.work().join("reply.json")).unwrap()).unwrap();
        assert_eq!((&reply["id"], &reply["result"]["isError"]), (&json!(2), &json!(true)), "{reply}");
    }
}

#[test]
fn models_cannot_submit_changing_values() {
    for (value, command) in CHANGING.iter().flat_map(|value| [(value, "uwf-react"), (value, "uwf-llm")]) {
        for answer in [ScriptedAnswer::text("").and_call_as_written("submit", *value), ScriptedAnswer::text(*value)] {
            let server = LlmServer::start([answer.repeated()]);
            let home = home();
            home.config(&format!(
                "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
                 agents:\n  a: {{ command: {command}, model: m }}\ndefaultAgent: a\n",
                server.url()
            ));
            step_is_refused(&home, &thread(&home), &format!("{command} {value}"));
        }
    }
}

#[test]
fn extraction_model_cannot_return_changing_values() {
    for value in CHANGING {
        let server = LlmServer::start([ScriptedAnswer::text(value).repeated()]);
        let home = home();
        home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho 'It looks fine to me.'\n");
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&format!(
            "{config}providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
             defaultModel: m\n\n",
            server.url()
        ));
        step_is_refused(&home, &thread(&home), value);
        assert!(!server.asked().is_empty(), "the model is asked");
    }
}

#[test]
fn scripts_cannot_reply_with_changing_values() {
    for value in &CHANGING[1..] {
        let home = home();
        mock(&home, "", &format!("reviewer:\n  - reply: {value}\n"));
        let thread = thread(&home);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_ne!(ran.code, Some(0), "{value}: {}", ran.transcript());
        assert_eq!(home.json(&["thread", "show", &thread])["steps"], 0, "{value}");
    }
}

#[test]
fn inputs_are_kept_exactly() {
    let home = home();
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho done\n");
    home.put(
        "count",
        "name: count\ndescription: x\ninput: { type: object, properties: { id: { type: integer }, any: {} } }\nroles:\n  r: { goal: x }\n\
         graph:\n  $START: [ { role: r } ]\n  r: [ { role: $END } ]\n",
    );
    for input in ["id=9007199254740993", "any=9007199254740993", "id=36893488147419103233"] {
        let ran = home.uwf(&["thread", "start", "count", "-p", "go", "--set", input]);
        assert_eq!(ran.code, Some(64), "{input}: {}", ran.transcript());
    }
    for (index, input) in [
        r#"{"id": 1, "id": 2}"#,
        r#"{"any": 9007199254740993}"#,
        r#"{"any": 36893488147419103233}"#,
        "any: 36893488147419103233\n",
    ]
    .iter()
    .enumerate()
    {
        let file = home.file(&format!("input{index}.json"), input).display().to_string();
        let file = if input.starts_with('{') { file } else { home.file("input.yaml", input).display().to_string() };
        let ran = home.uwf(&["thread", "start", "count", "-p", "go", "--input", &file]);
        assert!(matches!(ran.code, Some(64 | 65)), "{input}: {}", ran.transcript());
    }
    let exact = home.json(&["thread", "start", "count", "-p", "go", "--set", "id=9007199254740991"]);
    let show = home.json(&["thread", "show", exact["thread"].as_str().unwrap()]);
    assert_eq!(show["input"]["id"], json!(9_007_199_254_740_991_u64), "{show}");
}
