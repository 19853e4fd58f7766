//! Agents that store nodes and write records themselves. They run as the user, so they can; but whatever they name is
//! verified before a head leads there, and whatever a record says is verified as a fresh result is.

use std::fs;

use json_cas::{NodeDraft, NodeHash, cbor};
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

/// Two roles in turn, played by a program that speaks the full protocol: it prints what the file `step` holds. Before
/// that it runs the script `beside`, if there is one.
fn naming() -> (TestHome, String) {
    let home = home();
    home.script("namer", "#!/bin/sh\n[ -x ./beside ] && ./beside \"$@\"\ncat step\n");
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho x >> runs\necho '{\"n\": 1}'\n");
    home.config(
        "agents:\n  namer: { command: namer }\n  worker: { command: worker, output: json }\ndefaultAgent: namer\n",
    );
    home.put(
        "take-turns",
        "name: take-turns\nroles:\n  first: { goal: Work., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\n  second: { goal: Check., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\ngraph: { $START: [ { role: first } ], first: [ { role: second } ], second: [ { role: first } ] }\n",
    );
    let thread = home.start("take-turns", "work");
    (home, thread)
}

/// Writes a node past every check, as a program with the same rights can.
pub(crate) fn plant(home: &TestHome, type_hash: NodeHash, payload: &Value) -> NodeHash {
    let hash = NodeDraft::new(type_hash, payload.clone()).unwrap().hash();
    let node = json!({ "type": type_hash, "payload": payload, "timestamp": 1 });
    fs::write(home.root().join(format!("cas/{hash}.bin")), cbor::encode(&node).unwrap()).unwrap();
    hash
}

fn type_named(title: &str) -> NodeHash {
    let own = uwf_core::node::OWN_TYPES.iter().find(|own| own.kind.title() == title);
    own.unwrap_or_else(|| panic!("there is a type {title}")).hash
}

/// A step as an agent would store it: sound in all but what is planted instead.
struct Parts {
    start: String,
    prev: Value,
    role: &'static str,
    output: NodeHash,
    detail: NodeHash,
}

impl Parts {
    fn of(home: &TestHome, thread: &str, role: &'static str) -> Parts {
        let head = home.head(thread).unwrap();
        let node = home.json(&["cas", "get", &head]);
        let is_step = node["payload"].get("start").is_some();
        let start = if is_step { text(&node["payload"], "start") } else { head.clone() };
        let prev = if is_step { json!(head) } else { Value::Null };
        let workflow = text(&home.json(&["cas", "get", &start])["payload"], "workflow");
        let meta = text(&home.json(&["cas", "get", &workflow])["payload"]["roles"][role], "meta");
        let output = plant(home, meta.parse().unwrap(), &json!({ "n": 1 }));
        let detail = plant(home, type_named("content"), &json!({ "text": "what I did" }));
        Parts { start, prev, role, output, detail }
    }

    fn payload(&self) -> Value {
        let Parts { start, prev, role, output, detail } = self;
        json!({ "start": start, "prev": prev, "role": role, "output": output, "detail": detail, "agent": "namer" })
    }

    fn plant(&self, home: &TestHome) -> NodeHash {
        plant(home, type_named("StepNode"), &self.payload())
    }
}

fn session(home: &TestHome, raw: NodeHash) -> NodeHash {
    let agent = json!({ "name": "a", "command": "a", "args": [], "config": {} });
    let agent = plant(home, type_named("agent"), &agent);
    let session = json!({
        "agent": agent, "role": "first", "turns": [], "raw": raw, "attempts": [], "totalTokens": null, "tokens": null,
        "durationMs": 1, "source": "x", "extractedBy": "submit",
    });
    plant(home, type_named("react-session"), &session)
}

/// Names a step; it must be refused, the head stay, and the thread continue with another agent.
fn refused(home: &TestHome, thread: &str, step: NodeHash, why: &str) {
    home.file("step", &format!("{step}\n"));
    let before = home.head(thread);
    let ran = home.uwf(&["thread", "step", thread]);
    assert_eq!(ran.code, Some(40), "{why}: {ran:?}");
    assert!(ran.stderr.contains(&format!("the agent's result {step} was refused")), "{ran:?}");
    assert!(ran.stderr.contains(why), "{why}: {ran:?}");
    assert_eq!(home.head(thread), before, "{why}");
}

#[test]
fn valid_step_stored_by_agent_is_linked() {
    let (home, thread) = naming();
    let step = Parts::of(&home, &thread, "first").plant(&home);
    home.file("step", &format!("{step}\n"));
    assert_eq!(home.json(&["thread", "step", &thread])["head"], json!(step));
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

#[test]
fn a_step_with_a_further_field_is_refused() {
    let (home, thread) = naming();
    let mut payload = Parts::of(&home, &thread, "first").payload();
    payload["note"] = json!("more");
    let step = plant(&home, type_named("StepNode"), &payload);
    refused(&home, &thread, step, "does not fit `StepNode`");
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["role"], "first");
}

#[test]
fn everything_below_a_step_is_verified() {
    let (home, thread) = naming();
    let parts = |detail| Parts { detail, ..Parts::of(&home, &thread, "first") };
    let no_text = plant(&home, type_named("content"), &json!({ "txt": "no text" }));
    let whole = plant(&home, type_named("content"), &json!({ "text": "whole" }));
    let missing: NodeHash = "0123456789ABC".parse().unwrap();
    let bad_session = plant(&home, type_named("react-session"), &json!({ "raw": whole }));
    let cases = [
        (no_text, "does not fit `content`"),
        (bad_session, "does not fit `react-session`"),
        (session(&home, no_text), "does not fit `content`"),
        (session(&home, missing), "which does not exist"),
        (missing, "its detail is not readable"),
        (session(&home, session(&home, whole)), "which is not a node of type content"),
        (plant(&home, missing, &json!({})), "is not in the store"),
    ];
    for (detail, why) in cases {
        refused(&home, &thread, parts(detail).plant(&home), why);
    }
    // A step below a step counts as the last one of a child thread, and is verified too.
    let child = parts(no_text).plant(&home);
    refused(&home, &thread, parts(child).plant(&home), "does not fit `content`");
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["role"], "first");
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["role"], "second");
}

/// What the record says of the attempt that is running, as JSON.
fn opened(home: &TestHome, thread: &str) -> Value {
    let record = fs::read_to_string(home.record_file(thread)).unwrap();
    let mut lines = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.rfind(|line| line["event"] == "opened").expect("there was an attempt")
}

fn write_record(home: &TestHome, thread: &str, lines: &[Value]) {
    use std::io::Write;
    let mut record = fs::OpenOptions::new().append(true).open(home.record_file(thread)).unwrap();
    lines.iter().for_each(|line| writeln!(record, "\n{line}").unwrap());
}

#[test]
fn forged_finished_line_is_verified() {
    let (home, thread) = naming();
    let missing = "0123456789ABC";
    let no_text = plant(&home, type_named("content"), &json!({ "txt": "no text" }));
    let dangling = Parts { detail: missing.parse().unwrap(), ..Parts::of(&home, &thread, "first") }.plant(&home);
    let unfit = Parts { detail: no_text, ..Parts::of(&home, &thread, "first") }.plant(&home);
    for step in [missing.to_owned(), dangling.to_string(), unfit.to_string()] {
        let forge = format!(
            "#!/bin/sh\nprintf '\\n{{\"event\":\"finished\",\"attempt\":\"%s\",\"step\":\"{step}\",\"finishedAt\":1}}\\n' \"$UWF_ATTEMPT\" >> '{}'\n",
            home.record_file(&thread).display()
        );
        fs::write(home.work().join("beside"), forge).unwrap();
        std::process::Command::new("chmod").args(["+x", "beside"]).current_dir(home.work()).status().unwrap();
        home.file("step", "");
        let before = home.head(&thread);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{ran:?}");
        assert_eq!(home.head(&thread), before);
    }
    // Neither is one adopted that somebody wrote between two steps.
    let mut attempt = opened(&home, &thread);
    attempt["attempt"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let finished = json!({ "event": "finished", "attempt": attempt["attempt"], "step": dangling, "finishedAt": 1 });
    write_record(&home, &thread, &[attempt, finished]);
    let stepped = home.json(&["thread", "step", &thread, "--agent", "worker"]);
    assert_eq!([&stepped["role"], &stepped["adopted"]], [&json!("first"), &Value::Null]);
    assert_eq!(home.uwf(&["cas", "verify", &text(&stepped, "head")]).code, Some(0));
}

#[test]
fn forged_opened_line_cannot_substitute_another_role() {
    let (home, thread) = naming();
    home.json(&["thread", "step", &thread, "--agent", "worker"]);
    let head = home.head(&thread).unwrap();
    let mut attempt = opened(&home, &thread);
    attempt["attempt"] = json!("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    attempt["expectedHead"] = json!(head);
    // It is the turn of `second`.
    let step = Parts::of(&home, &thread, "first").plant(&home);
    let finished = json!({ "event": "finished", "attempt": attempt["attempt"], "step": step, "finishedAt": 1 });
    write_record(&home, &thread, &[attempt.clone(), finished]);
    let stepped = home.json(&["thread", "step", &thread, "--agent", "worker"]);
    assert_eq!([&stepped["role"], &stepped["adopted"]], [&json!("second"), &Value::Null]);
    // A line of another thread, or with an id that is a path, is none.
    let runs = || fs::read_to_string(home.work().join("runs")).unwrap().lines().count();
    for (field, value) in [("thread", "01ARZ3NDEKTSV4RRFFQ69G5FAW"), ("attempt", "../../../config.yaml")] {
        let before = runs();
        let mut forged = attempt.clone();
        forged["expectedHead"] = json!(home.head(&thread));
        forged[field] = json!(value);
        let step = Parts::of(&home, &thread, "first").plant(&home);
        let finished = json!({ "event": "finished", "attempt": forged["attempt"], "step": step, "finishedAt": 1 });
        write_record(&home, &thread, &[forged, finished]);
        assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["adopted"], Value::Null);
        assert_eq!(runs(), before + 1, "{field}");
    }
}

/// The thread as an older build left it: the bad step is its head.
fn wedged(home: &TestHome, thread: &str, step: NodeHash) {
    let index = home.root().join("threads.yaml");
    let old = home.head(thread).unwrap();
    let written = fs::read_to_string(&index).unwrap().replace(&old, &step.to_string());
    fs::write(index, written).unwrap();
}

#[test]
fn repair_unblocks_thread_wedged_by_older_build() {
    let (home, thread) = naming();
    home.json(&["thread", "step", &thread, "--agent", "worker"]);
    let sound = home.head(&thread);
    let untouched = home.json(&["thread", "repair", &thread]);
    assert_eq!([&untouched["head"], &untouched["steps"]], [&json!(sound), &json!([])]);
    let no_session = plant(&home, type_named("react-session"), &json!({ "raw": 7 }));
    let bad = Parts { detail: no_session, ..Parts::of(&home, &thread, "second") }.plant(&home);
    wedged(&home, &thread, bad);
    let stuck = home.uwf(&["thread", "step", &thread, "--agent", "worker"]);
    assert_eq!(stuck.code, Some(65), "{stuck:?}");
    assert!(stuck.stderr.contains(&format!("`uwf thread repair {thread}`")), "{stuck:?}");
    // What follows a bad step is put behind the one that takes its place.
    let last = Parts::of(&home, &thread, "first").plant(&home);
    wedged(&home, &thread, last);
    let looked = home.json(&["thread", "repair", &thread, "--dry-run"]);
    assert_eq!(home.head(&thread), Some(last.to_string()), "a dry run changes nothing");
    let done = home.json(&["thread", "repair", &thread]);
    assert_eq!(done["steps"], looked["steps"]);
    assert_eq!(done["before"], json!(last));
    let rows = done["steps"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(json!([rows[0]["index"], rows[0]["role"], rows[0]["action"]]), json!([2, "second", "noted"]));
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["role"], "second");
    let head = home.head(&thread).unwrap();
    assert_eq!(home.uwf(&["cas", "verify", &head]).code, Some(0));
    assert_eq!(home.json(&["recover", "--dry-run"])["changed"], false);
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 4);
}

#[test]
fn repair_drops_invalid_output_and_rewrites_extra_fields() {
    let (home, thread) = naming();
    let mut payload = Parts::of(&home, &thread, "first").payload();
    payload["note"] = json!("more");
    let more = plant(&home, type_named("StepNode"), &payload);
    wedged(&home, &thread, more);
    let bad = Parts { output: more, ..Parts::of(&home, &thread, "second") }.plant(&home);
    wedged(&home, &thread, bad);
    let done = home.json(&["thread", "repair", &thread]);
    let actions: Vec<&Value> = done["steps"].as_array().unwrap().iter().map(|row| &row["action"]).collect();
    assert_eq!(actions, ["rewritten", "dropped"]);
    assert_eq!(home.uwf(&["cas", "verify", &home.head(&thread).unwrap()]).code, Some(0));
    assert_eq!(home.json(&["thread", "step", &thread, "--agent", "worker"])["role"], "second");
}
