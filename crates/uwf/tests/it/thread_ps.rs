//! `thread ps`: what runs now.

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::processes::until;

use crate::home;

/// Says something on stderr, then waits for the file `go`.
const WAITING: &str = "#!/bin/sh\necho thinking >&2\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";

#[test]
fn running_steps_show_agent_and_last_activity() {
    let home = home();
    home.worker("output: json", WAITING);
    let thread = home.start_counting(1, "x");
    assert_eq!(home.json(&["thread", "ps"]), json!([]));
    assert_eq!(home.transcript(&["thread", "ps", "--format", "text"]), "exit 0\nnothing runs\n");
    let mut step = home.command(&["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
    until("the agent has said something", || {
        let running = home.json(&["thread", "ps"]);
        running[0]["pid"].is_u64() && running[0]["lastSign"].as_u64() > running[0]["since"].as_u64()
    });
    let running = &home.json(&["thread", "ps"])[0];
    assert_eq!(
        json!([running["thread"], running["workflow"], running["role"], running["alias"], running["agent"]]),
        json!([thread, "count-rounds", "worker", "w", "worker"])
    );
    assert!(running["pid"].is_u64() && running["keeper"].is_u64() && running.get("tokens").is_none(), "{running}");
    let text = home.transcript(&["thread", "ps", "--format", "text"]);
    let columns: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(columns[..4], ["<id>", "count-rounds", "worker", "w"], "{text}");
    home.file("go", "");
    assert!(step.wait().unwrap().success());
    assert_eq!(home.json(&["thread", "ps"]), json!([]));
}

#[test]
fn step_with_killed_keeper_is_not_running() {
    let home = home();
    home.worker("output: json", WAITING);
    let thread = home.start_counting(1, "x");
    let mut step =
        home.command(&["thread", "step", &thread]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    home.kill_keeper(&thread);
    step.wait().unwrap();
    assert_eq!(home.json(&["thread", "ps"]), json!([]));
    home.file("go", "");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
}

#[test]
fn a_broken_thread_breaks_no_list() {
    let home = home();
    home.worker("output: json", &WAITING.replace("echo thinking", "echo $$ >> working\necho thinking"));
    let [sound, broken] = ["x", "y"].map(|prompt| home.start_counting(1, prompt));
    let mut steps = [&sound, &broken].map(|thread| {
        home.command(&["thread", "step", thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    // A step that has not come to its agent yet would fail for want of the node.
    let working = || std::fs::read_to_string(home.work().join("working")).unwrap_or_default();
    until("both agents are at work", || working().lines().count() == 2);
    let head = home.head(&broken).unwrap();
    std::fs::write(home.root().join(format!("cas/{head}.bin")), "x").unwrap();
    let running = home.json(&["thread", "ps"]);
    let workflows: Vec<_> = running.as_array().unwrap().iter().map(|step| &step["workflow"]).collect();
    assert!(workflows.contains(&&json!("count-rounds")) && workflows.contains(&&json!(null)), "{running}");
    home.file("go", "");
    for step in &mut steps {
        step.wait().unwrap();
    }
    assert_snapshot!(home.transcript(&["thread", "ps", "--format", "text"]), @"
    exit 0
    nothing runs
    ");
}

mod with_tools {
    use super::*;
    use crate::fixtures::terminal::session_in;
    use crate::fixtures::text::{columns, plain};

    #[test]
    fn narrow_terminal_shows_end_of_id() {
        let home = home();
        home.worker("output: json", WAITING);
        let thread = home.start_counting(1, "x");
        let mut step = home.command(&["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
        until("it runs", || home.json(&["thread", "ps"])[0]["pid"].is_u64());
        let shown = plain(&session_in(&home, 80, &["thread", "ps"], &[]).shown);
        home.file("go", "");
        assert!(step.wait().unwrap().success());
        let row = shown.lines().nth(1).unwrap();
        assert!(row.contains(&thread[20..]) && columns(row) <= 80, "{shown}");
    }
}

#[test]
fn running_program_shows_tokens_and_activity() {
    let home = home();
    let message = json!({
        "type": "assistant",
        "message": {
            "id": "m", "role": "assistant", "usage": { "input_tokens": 1150, "output_tokens": 3 },
            "content": [{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "cd /tmp && pytest" } }]
        }
    });
    let script =
        format!("#!/bin/sh\ncat > /dev/null\necho '{message}'\nwhile [ ! -e go ]; do sleep 0.02; done\nexit 1\n");
    home.worker("output: text, config: { trace: claude }", &script);
    let thread = home.start_counting(1, "x");
    let mut step =
        home.command(&["thread", "step", &thread]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let shown = || home.uwf(&["thread", "ps", "--format", "text"]).stdout;
    until("its call is known", || shown().contains("pytest"));
    let shown = shown();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].contains("≥ 1,150"), "{shown}");
    assert_eq!(lines[2], "    runs cd /tmp && pytest", "{shown}");
    home.file("go", "");
    step.wait().unwrap();
}
