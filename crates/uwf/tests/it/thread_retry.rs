//! `thread retry`: the step whose last attempt failed, once more.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{failed_attempts, text};

use crate::home;

const FLAKY: &str = "#!/bin/sh\n[ -e go ] || { echo $$ >&2; exit 3; }\necho '{\"n\": 1}'\n";

#[test]
fn stuck_thread_continues_and_keeps_failures() {
    let home = home();
    home.worker("output: json", FLAKY);
    let thread = home.start_counting(2, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(40), "it fails again");
    home.json(&["thread", "pause", &thread]);
    home.json(&["thread", "resume", &thread]);
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(40), "a pause changes nothing");
    home.file("go", "");
    assert_eq!(home.json(&["thread", "retry", "@"])["role"], "worker");
    assert_eq!(failed_attempts(&home.last_detail(&thread)), 3);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    assert_snapshot!(home.transcript(&["thread", "retry", &thread, "--format", "text"]), @r"
    exit 64
    --- stderr
    error: thread <id> has no failed attempt: it is active
    hint: to do its next step: uwf thread step <id>
    ");
}

#[test]
fn another_agent_may_try_for_once() {
    let home = home();
    home.script("other", "#!/bin/sh\necho '{\"n\": 2}'\n");
    home.script("worker", FLAKY);
    home.config(
        "agents:\n  w: { command: worker, output: json }\n  o: { command: other, output: json }\ndefaultAgent: w\n",
    );
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let retried = home.uwf(&["thread", "retry", &thread, "--agent", "o", "--exit-code"]);
    assert_eq!(retried.code, Some(10), "{retried:?}");
    assert_eq!(text(&home.last_step(&thread), "agent"), "other");
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(69), "it has ended");
    assert_eq!(home.uwf(&["thread", "retry", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).code, Some(69));
    let killed = home.start("count-rounds", "killed");
    home.json(&["thread", "kill", &killed]);
    assert_eq!(home.uwf(&["thread", "retry", &killed]).code, Some(69));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn command_line_may_retry_with_its_output() {
    let home = home();
    home.worker("output: json", FLAKY);
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let command = r#"sh -c 'echo "{\"n\": 3}"'"#;
    assert_eq!(home.uwf(&["thread", "retry", &thread, "--output", "json"]).code, Some(64), "it belongs to --agent");
    let retried = home.uwf(&["thread", "retry", &thread, "--agent", command, "--output", "json"]);
    assert_eq!(retried.code, Some(0), "{}", retried.transcript());
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 3 }));
}

#[test]
fn answer_to_stuck_thread_names_retry() {
    let home = home();
    home.worker("output: json", FLAKY);
    let thread = home.start_counting(2, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let refused = home.uwf(&["thread", "answer", &thread, "-m", "hello"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains(&format!("repeat the step: `uwf thread retry {thread}`")), "{}", refused.stderr);
}

#[test]
fn stderr_in_pipe_has_no_escapes_of_agents() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nprintf '\\033[31mbroken\\033[0m\\n' >&2\nexit 3\n");
    let thread = home.start_counting(1, "count");
    for format in ["text", "json"] {
        let ran = home.uwf(&["thread", "step", &thread, "--format", format]);
        assert!(ran.stderr.contains("its last words: broken") && !ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    }
}
