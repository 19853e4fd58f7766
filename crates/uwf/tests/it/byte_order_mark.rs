//! A byte order mark, as editors and PowerShell put one before a text: it belongs to no task, answer or value.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::home;

const MARK: &str = "\u{feff}";

/// Runs a command with this on stdin.
fn fed(home: &TestHome, args: &[&str], input: &str) -> FinishedRun {
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    FinishedRun::from(child.wait_with_output().unwrap())
}

#[test]
fn a_task_on_stdin_loses_its_mark() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(1));
    let task = |thread: &str| home.json(&["thread", "eval", thread, "start.prompt"]);
    let plain = fed(&home, &["thread", "start", "count-rounds", "-p", "-"], "Fix it\n").json();
    let marked = fed(&home, &["thread", "start", "count-rounds", "-p", "-"], &format!("{MARK}Fix it\n")).json();
    let (plain, marked) = (text(&plain, "thread"), text(&marked, "thread"));
    assert_eq!(task(&marked), task(&plain));
    assert_eq!(home.head(&marked), home.head(&plain), "the same task is the same node");
    let forked = fed(&home, &["thread", "fork", &plain, "-p", "-"], &format!("{MARK}Other")).json();
    assert_eq!(task(&text(&forked, "thread")), json!("Other"));
    let ran = fed(&home, &["run", "count-rounds", "-p", "-"], &format!("{MARK}Fix it")).json();
    assert_eq!(task(&text(&ran, "thread")), json!("Fix it"));
    let nothing = fed(&home, &["thread", "start", "count-rounds", "-p", "-"], MARK);
    assert_eq!(nothing.code, Some(64), "{nothing:?}");
    let call = json!({ "workflow": "count-rounds", "prompt": "Fix it" }).to_string();
    let by_api = fed(&home, &["api", "POST", "/threads", "--data", "-"], &format!("{MARK}{call}"));
    assert_eq!(by_api.code, Some(0), "{by_api:?}");
    assert_eq!(task(&text(&by_api.json(), "thread")), json!("Fix it"));
}

#[test]
fn an_answer_loses_its_mark() {
    let home = home();
    home.config("agents:\n  me: { command: uwf-human }\ndefaultAgent: me\n");
    home.put("ask", "name: ask\nroles:\n  person: { goal: Say, meta: { type: object, properties: { said: { type: string } }, required: [said] } }\ngraph:\n  $START: [ { role: person } ]\n  person: [ { role: $END } ]\n");
    home.file("answer.md", &format!("{MARK}---\nsaid: done\n---\n"));
    home.file("answer.json", &format!("{MARK}{{\"said\": \"done\"}}"));
    let marked = format!("{MARK}{{\"said\": \"done\"}}");
    for (args, input) in [
        (["--file", "answer.md"], ""),
        (["--file", "answer.json"], ""),
        (["--file", "-"], &marked),
        (["--data", "-"], &marked),
    ] {
        let thread = home.start("ask", "x");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        let ran = fed(&home, &[&["thread", "answer", &thread][..], &args].concat(), input);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output"]), json!({ "said": "done" }));
        assert!(!home.last_detail(&thread).to_string().contains(MARK), "{args:?}");
    }
}

#[test]
fn a_stored_text_loses_its_mark() {
    let home = home();
    home.file("text.md", &format!("{MARK}hello"));
    let plain = home.json(&["cas", "put-text", "hello"]);
    assert_eq!(home.json(&["cas", "put-text", "--file", "text.md"]), plain);
    assert_eq!(fed(&home, &["cas", "put-text", "-"], &format!("{MARK}hello")).json(), plain);
    let inside = fed(&home, &["cas", "put-text", "-"], &format!("a{MARK}b")).json();
    assert_eq!(inside, home.json(&["cas", "put-text", &format!("a{MARK}b")]), "elsewhere it is a part of the text");
}
