//! `thread live`: a thread as it happens.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::processes::{signal, until};
use uwf_testing::{TestHome, text};

use crate::fixtures::acp::kept;
use crate::fixtures::child_threads::{go, planned, staffed};
use crate::fixtures::people::family;
use crate::home;

/// Says a line on stderr and one on stdout, then waits for the file `go` and answers.
const TALKING: &str = "#!/bin/sh\necho looking >&2\nprintf -- '---\\nn: 1\\n---\\nI begin'\n\
                       while [ ! -e go ]; do sleep 0.02; done\necho ', I end.'\n";

/// `thread live`, and what it has printed so far.
struct Watcher {
    process: Child,
    lines: std::sync::mpsc::Receiver<String>,
    seen: Vec<Value>,
}

impl Watcher {
    fn of(home: &TestHome, args: &[&str]) -> Watcher {
        let args = [&["live"], args, &["--format", "json"]].concat();
        let mut process = home.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watcher { process, lines, seen: Vec::new() }
    }

    /// Waits for an event.
    fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(what, || self.has(&wanted));
        self.seen.iter().find(|event| wanted(event)).unwrap().clone()
    }

    fn has(&mut self, wanted: impl Fn(&Value) -> bool) -> bool {
        self.seen.extend(self.lines.try_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap()));
        self.seen.iter().any(wanted)
    }

    /// Its exit code, and all events it printed.
    fn end(mut self) -> (Option<i32>, Vec<Value>) {
        let code = self.process.wait().unwrap().code();
        self.seen.extend(self.lines.iter().map(|line| serde_json::from_str::<Value>(&line).unwrap()));
        (code, std::mem::take(&mut self.seen))
    }
}

/// A test that fails leaves no watcher behind.
impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is(event: &Value, name: &str) -> bool {
    event["event"] == name
}

/// Names of events, with the depth of those of child threads.
fn names(events: &[Value]) -> Vec<String> {
    let name =
        |event: &Value| format!("{}{}", "  ".repeat(event["depth"].as_u64().unwrap() as usize), text(event, "event"));
    let mut names: Vec<String> = events.iter().map(name).collect();
    names.dedup();
    names
}

fn stepping(home: &TestHome, thread: &str) -> Child {
    home.command(&["run", thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn thread_is_followed_from_start_to_end() {
    let home = home();
    home.worker("output: text", TALKING);
    let thread = home.start_counting(2, "count");
    let mut watcher = Watcher::of(&home, &[&thread]);
    watcher.until("the thread is shown", |event| is(event, "thread") && event["prompt"] == "count");
    let mut run = stepping(&home, &thread);
    let printed = watcher.until("the agent's text is shown while it runs", |event| is(event, "output"));
    assert_eq!(json!([printed["stream"], printed["text"]]), json!(["stdout", "---\nn: 1\n---\nI begin"]));
    home.file("go", "");
    let (code, events) = watcher.end();
    assert_eq!(code, Some(0));
    assert!(run.wait().unwrap().success());
    let steps: Vec<Value> = events
        .iter()
        .filter(|event| is(event, "step"))
        .map(|step| json!([step["index"], step["output"]["n"]]))
        .collect();
    assert_eq!(steps, [json!([1, 1]), json!([2, 1])]);
    assert!(events.iter().all(|event| event["v"] == 1 && event["thread"] == thread.as_str()), "{events:?}");
    assert_eq!(events.last().unwrap()["status"], "completed");
    assert!(!events.iter().any(|event| event["stream"] == "stderr"), "only --debug shows that");
}

#[test]
fn late_watcher_gets_earlier_events() {
    let home = home();
    home.worker("output: text", TALKING);
    let thread = home.start_counting(1, "count");
    let mut run = stepping(&home, &thread);
    until("the agent works", || {
        let running = home.json(&["thread", "ps"]);
        running[0]["pid"].is_u64() && running[0]["lastSign"].as_u64() > running[0]["since"].as_u64()
    });
    let mut watcher = Watcher::of(&home, &["@", "--debug"]);
    watcher.until("stdout", |event| event["text"] == "---\nn: 1\n---\nI begin");
    watcher.until("stderr", |event| event["stream"] == "stderr" && event["text"] == "looking\n");
    home.file("go", "");
    assert_eq!(watcher.end().0, Some(0));
    run.wait().unwrap();
    // And after the end.
    let shown = home.transcript(&["live", &thread, "--format", "text"]);
    let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty() && !line.starts_with("by ")).collect();
    assert_snapshot!(lines.join("\n"), @r"
    exit 0
    count-rounds thread <id>
    count
    ## 1. worker
    I begin, I end.
    **Output**
    - **n**: 1
    done (enough)
    ");
    assert_eq!(home.uwf(&["live", &thread, "--exit-code", "--tail", "0"]).code, Some(10));
}

#[test]
fn turns_and_tool_calls_appear_live() {
    let server = LlmServer::start([
        ScriptedAnswer::text("First I look.")
            .and_call("shell_exec", json!({ "command": "echo seen; while [ ! -e go ]; do sleep 0.02; done" })),
        ScriptedAnswer::text("---\nn: 1\n---\nDone."),
    ]);
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  a: {{ command: uwf-react }}\ndefaultAgent: a\ndefaultModel: m\n",
        server.url()
    ));
    let thread = home.start_counting(1, "count the moons");
    let mut watcher = Watcher::of(&home, &[&thread]);
    let mut run = stepping(&home, &thread);
    let turn = watcher
        .until("the turn is shown while its tool runs", |event| is(event, "turn") && event["text"] == "First I look.");
    assert_eq!(json!([turn["turn"], turn["done"]]), json!([1, false]));
    home.file("go", "");
    let (code, events) = watcher.end();
    assert_eq!(code, Some(0), "{events:?}");
    run.wait().unwrap();
    let over: Vec<Value> = events
        .iter()
        .filter(|event| is(event, "turn") && event["done"] == true)
        .map(|turn| json!([turn["turn"], turn["text"], turn["toolCalls"][0]["result"]]))
        .collect();
    assert_eq!(over, [json!([1, "First I look.", "exit 0\nseen\n"]), json!([2, "---\nn: 1\n---\nDone.", null])]);
}

/// Lines of a trace before and after the file `go` appears, for a program that prints them.
fn printing(before: &[Value], after: &[Value]) -> String {
    let lines = |events: &[Value]| events.iter().map(|event| format!("{event}\n")).collect::<String>();
    format!(
        "#!/bin/sh\necho noise >&2\ncat <<'END'\n{}END\nwhile [ ! -e go ]; do sleep 0.02; done\ncat <<'END'\n{}END\n",
        lines(before),
        lines(after)
    )
}

/// For each program: its format, what it prints before and while a tool runs, what after it, and the tool's line of progress.
fn printed_traces() -> [(&'static str, Vec<Value>, Vec<Value>, &'static str); 4] {
    const ANSWER: &str = "---\nn: 1\n---\nDone.";
    let claude = |id: &str, block: Value| {
        let usage = json!({ "input_tokens": 7, "output_tokens": 1 });
        json!({ "type": "assistant", "session_id": "s", "message": { "role": "assistant", "id": id, "content": [block], "usage": usage } })
    };
    let opencode = |kind: &str, part: Value| json!({ "type": kind, "sessionID": "s", "part": part });
    [
        (
            "claude",
            vec![
                claude("m1", json!({ "type": "text", "text": "First I look." })),
                claude(
                    "m1",
                    json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "pytest -q" } }),
                ),
            ],
            vec![
                json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "2 passed" }] } }),
                claude("m2", json!({ "type": "text", "text": ANSWER })),
                json!({ "type": "result", "subtype": "success", "is_error": false, "result": ANSWER }),
            ],
            "runs pytest -q",
        ),
        (
            "codex",
            vec![
                json!({ "type": "thread.started", "thread_id": "s" }),
                json!({ "type": "item.completed", "item": { "id": "i1", "type": "agent_message", "text": "First I look." } }),
                json!({ "type": "item.started", "item": { "id": "i2", "type": "command_execution", "command": "/bin/bash -lc 'pytest -q'" } }),
            ],
            vec![
                json!({ "type": "item.completed", "item": { "id": "i2", "type": "command_execution", "command": "/bin/bash -lc 'pytest -q'", "aggregated_output": "2 passed", "exit_code": 0 } }),
                json!({ "type": "item.completed", "item": { "id": "i3", "type": "agent_message", "text": ANSWER } }),
                json!({ "type": "turn.completed", "usage": { "input_tokens": 7, "output_tokens": 3 } }),
            ],
            "runs pytest -q",
        ),
        (
            "gemini",
            vec![
                json!({ "type": "init", "session_id": "s" }),
                json!({ "type": "message", "role": "assistant", "content": "First I ", "delta": true }),
                json!({ "type": "message", "role": "assistant", "content": "look.", "delta": true }),
                json!({ "type": "tool_use", "tool_id": "t1", "tool_name": "read_file", "parameters": { "absolute_path": "/src/a.rs" } }),
            ],
            vec![
                json!({ "type": "tool_result", "tool_id": "t1", "status": "success", "output": "2 passed" }),
                json!({ "type": "message", "role": "assistant", "content": ANSWER, "delta": true }),
                json!({ "type": "result", "status": "success", "stats": { "input_tokens": 7, "output_tokens": 3 } }),
            ],
            "reads /src/a.rs",
        ),
        (
            "opencode",
            vec![
                opencode("step_start", json!({})),
                opencode("text", json!({ "text": "First I look." })),
                opencode(
                    "tool_use",
                    json!({ "callID": "c1", "tool": "edit", "state": { "input": { "filePath": "a.rs" }, "output": "2 passed" } }),
                ),
            ],
            vec![
                opencode("step_finish", json!({ "reason": "tool-calls" })),
                opencode("step_start", json!({})),
                opencode("text", json!({ "text": ANSWER })),
                opencode("step_finish", json!({ "reason": "stop", "tokens": { "input": 7, "output": 3 } })),
            ],
            "changes a.rs",
        ),
    ]
}

#[test]
fn printed_turns_appear_while_programs_run() {
    for (format, before, after, doing) in printed_traces() {
        let home = home();
        home.worker(&format!("output: text, config: {{ trace: {format} }}"), &printing(&before, &after));
        let thread = home.start_counting(1, "count the moons");
        let mut watcher = Watcher::of(&home, &[&thread]);
        let mut run = stepping(&home, &thread);
        let turn = watcher.until(&format!("{format}: the turn is shown while its tool runs"), |event| {
            is(event, "turn") && event["text"] == "First I look." && event["toolCalls"][0].is_object()
        });
        assert_eq!(json!([turn["turn"], turn["done"]]), json!([1, false]), "{format}");
        let running = home.json(&["thread", "ps"]);
        assert_eq!(running[0]["doing"], doing, "{format}: {running}");
        if format == "claude" {
            assert_eq!(
                running[0]["tokens"],
                json!({ "input": 7, "output": null }),
                "the output of a message is known at the end"
            );
        }
        home.file("go", "");
        let (code, events) = watcher.end();
        assert_eq!(code, Some(0), "{format}: {events:?}");
        assert!(run.wait().unwrap().success(), "{format}");
        let over: Vec<Value> = events
            .iter()
            .filter(|event| is(event, "turn") && event["done"] == true)
            .map(|turn| json!([turn["turn"], turn["text"], turn["toolCalls"][0]["result"]]))
            .collect();
        let expected = [json!([1, "First I look.", "2 passed"]), json!([2, "---\nn: 1\n---\nDone.", null])];
        assert_eq!(over, expected, "{format}: each turn once");
        let head = text(&home.json(&["thread", "show", &thread]), "head");
        let detail = home.json(&["thread", "step-details", &head, "--format", "json"])["detail"].clone();
        assert_eq!(detail["source"], "stdout", "{format}: the whole output replaces what was followed");
        assert!(detail["turns"][0]["input"].to_string().contains("count the moons"), "{format}: {detail:#}");
    }
}

#[test]
fn killed_program_leaves_all_printed_turns() {
    let home = home();
    let [(_, before, after, _), ..] = printed_traces();
    home.worker("output: text, config: { trace: claude }", &printing(&before, &after));
    let thread = home.start_counting(1, "count the moons");
    let mut watcher = Watcher::of(&home, &[&thread]);
    let mut run = stepping(&home, &thread);
    watcher.until("the turn", |event| is(event, "turn"));
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
    run.wait().unwrap();
    let attempt = kept(&home, &thread);
    assert_eq!(json!([attempt["source"], attempt["turns"][0]["output"]]), json!(["stdout", "First I look."]));
    assert_eq!(attempt["turns"][0]["toolCalls"][0]["name"], "Bash");
}

#[test]
fn failed_attempt_is_shown_and_next_followed() {
    let home = home();
    let denied = r#"{"type":"turn","output":"","toolCalls":[{"name":"shell","arguments":"cargo test","denied":true}]}"#;
    let answer = r#"{"type":"turn","output":"{\"n\": 1}"}"#;
    home.worker(
        "output: json, config: { trace: jsonl }",
        &format!("#!/bin/sh\necho '{denied}'\n[ -e go ] || {{ echo broken >&2; exit 3; }}\necho '{answer}'\n"),
    );
    let thread = home.start_counting(1, "count");
    let mut watcher = Watcher::of(&home, &[&thread]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let failed = watcher.until("the failure", |event| is(event, "failed"));
    assert!(text(&failed, "error").contains("exited with 3") && failed["node"].is_string(), "{failed}");
    assert_eq!(failed["denied"], json!(["shell(cargo test)"]));
    watcher.until("the state", |event| is(event, "state") && event["state"] == "stuck");
    home.file("go", "");
    home.json(&["thread", "step", &thread]);
    assert_eq!(watcher.end().0, Some(0));
}

#[test]
fn child_threads_are_followed_below_their_parents() {
    let home = staffed();
    let thread = planned(&home);
    let mut watcher = Watcher::of(&home, &[&thread]);
    let mut run = stepping(&home, &thread);
    watcher.until("the child is shown", |event| is(event, "thread") && event["depth"] == 1);
    go(&home);
    let (code, followed) = watcher.end();
    assert_eq!(code, Some(0));
    run.wait().unwrap();
    let steps = |events: &[Value]| -> Vec<Value> {
        let steps = events.iter().filter(|event| is(event, "step"));
        steps.map(|step| json!([step["depth"], step["role"]])).collect()
    };
    let wanted = [json!([0, "plan"]), json!([1, "code"]), json!([1, "check"]), json!([0, "build"]), json!([0, "tell"])];
    assert_eq!(steps(&followed), wanted);
    let (_, read) = Watcher::of(&home, &[&thread]).end();
    assert_eq!(steps(&read), wanted, "the past of a finished thread has them too");
    assert_eq!(names(&read), ["thread", "step", "  thread", "  step", "  end", "step", "end"]);
}

#[test]
fn only_what_is_asked_for_is_shown() {
    let home = staffed();
    go(&home);
    let thread = planned(&home);
    home.json(&["run", &thread]);
    let roles = |args: &[&str]| -> Vec<Value> {
        let (code, events) = Watcher::of(&home, &[&[thread.as_str()], args].concat()).end();
        assert_eq!(code, Some(0));
        events.iter().filter(|event| is(event, "step")).map(|step| step["role"].clone()).collect()
    };
    assert_eq!(roles(&["--tail", "0"]), [json!(null); 0]);
    assert_eq!(roles(&["--tail", "1"]), ["tell"]);
    assert_eq!(roles(&["--role", "check"]), ["check"]);
}

#[test]
fn all_threads_are_followed_despite_broken_one() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let [one, broken] = ["one", "broken"].map(|prompt| home.start_counting(2, prompt));
    let head = home.head(&broken).unwrap();
    std::fs::write(home.root().join(format!("cas/{head}.bin")), "x").unwrap();
    let mut watcher = Watcher::of(&home, &["--all"]);
    // It says nothing of what there is when it begins to look, so one more thread shows that it has begun.
    until("it looks", || {
        let probe = home.start("count-rounds", "probe");
        home.json(&["thread", "kill", &probe]);
        watcher.has(|event| event["prompt"] == "probe")
    });
    home.json(&["run", &one]);
    watcher.until("its end", |event| is(event, "end") && event["thread"] == one.as_str());
    let late = home.start("count-rounds", "late");
    home.json(&["run", &late]);
    watcher
        .until("the end of one that was started later", |event| is(event, "end") && event["thread"] == late.as_str());
    signal(watcher.process.id(), "INT");
    assert_eq!(watcher.end().0, None, "ended by the signal");
}

#[test]
fn killed_keeper_is_shown_and_following_continues() {
    let home = home();
    home.worker("output: text", TALKING);
    let thread = home.start_counting(1, "count");
    let mut watcher = Watcher::of(&home, &[&thread]);
    let mut run = stepping(&home, &thread);
    watcher.until("the agent works", |event| is(event, "output"));
    home.kill_keeper(&thread);
    run.wait().unwrap();
    watcher.until("it does not run any more", |event| is(event, "state") && event["state"] == "active");
    home.file("go", "");
    home.json(&["thread", "step", &thread]);
    assert_eq!(watcher.end().0, Some(0));
}

#[test]
fn threads_that_cannot_be_followed() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    home.json(&["thread", "kill", &thread]);
    assert_snapshot!(home.transcript(&["live", &thread, "--format", "text"]), @"
    exit 11

    count-rounds thread <id>
    count

    killed
    ");
    assert_eq!(home.uwf(&["live", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).code, Some(69));
    assert_eq!(home.uwf(&["live"]).code, Some(64));
    let corrupt = home.start("count-rounds", "two");
    let head = home.head(&corrupt).unwrap();
    std::fs::write(home.root().join(format!("cas/{head}.bin")), "x").unwrap();
    assert_eq!(home.uwf(&["live", &corrupt]).code, Some(65));
}

#[test]
fn unknown_role_is_rejected() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    home.json(&["run", &thread]);
    let active = home.start("count-rounds", "another");
    for thread in [&thread, &active] {
        let seen = home.uwf(&["live", thread, "--role", "wroker"]);
        assert_eq!(seen.code, Some(64), "{seen:?}");
        let told = format!("error: thread {thread} has no role `wroker`\nhint: its roles are worker\n");
        assert_eq!(seen.stderr, told);
    }
    // A role of a child thread that has not begun is one.
    let (other, parent) = family();
    other.json(&["thread", "kill", &parent]);
    let seen = other.uwf(&["live", &parent, "--role", "boss"]);
    assert_eq!(seen.code, Some(11), "{seen:?}");
    assert!(!seen.stderr.contains("role"), "{seen:?}");
    let seen = other.uwf(&["live", &parent, "--role", "baker"]);
    assert!(seen.code == Some(64) && seen.stderr.contains("its roles are boss, release"), "{seen:?}");
    assert_eq!(home.uwf(&["live", &thread, "--role", "worker"]).stderr, "");
}
