//! Names of an agent: every report has the same alias and command.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::processes::until;

use crate::fixtures::answering::workflow;
use crate::home;

const WORKER: &str = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";

fn names(report: &Value) -> Value {
    json!([report.get("alias"), report.get("agent")])
}

/// The first event of a kind that a thread reports.
fn event(home: &TestHome, thread: &str, kind: &str) -> Value {
    let mut live =
        home.command(&["thread", "live", thread, "--format", "json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(live.stdout.take().unwrap()).lines();
    let event = lines.find_map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (event["event"] == kind).then_some(event)
    });
    let _ = live.kill();
    live.wait().unwrap();
    event.unwrap_or_else(|| panic!("no event `{kind}`"))
}

/// Checks the names in all reports of a thread whose steps are played by the agent of these options.
fn check_every_report(options: &[&str], expected: &Value) {
    let home = home();
    home.worker("output: json", WORKER);
    let thread = home.start_counting(3, "x");
    let dry = home.json(&[&["thread", "step", &thread, "--dry-run"], options].concat());
    assert_eq!(names(&dry), *expected);
    let mut run = home.command(&[&["run", &thread], options].concat()).stdout(Stdio::piped()).spawn().unwrap();
    until("the agent runs", || home.json(&["thread", "ps"])[0]["pid"].is_u64());
    assert_eq!(names(&home.json(&["thread", "ps"])[0]), *expected);
    assert_eq!(names(&home.json(&["thread", "show", &thread])), *expected);
    home.file("go", "");
    let mut printed = String::new();
    std::io::Read::read_to_string(run.stdout.as_mut().unwrap(), &mut printed).unwrap();
    assert!(run.wait().unwrap().success());
    let last = serde_json::from_str::<Value>(printed.lines().last().unwrap()).unwrap();
    assert_eq!(names(&last), *expected, "{printed}");
    assert_eq!(names(&event(&home, &thread, "step")), *expected);
    assert_eq!(names(&home.json(&["thread", "steps", &thread])["steps"][1]), *expected);
    assert_eq!(names(&home.json(&["thread", "why", &thread])["step"]), *expected);
    assert_eq!(home.last_step(&thread)["agent"], expected[1]);
    let hash = last["head"].as_str().unwrap();
    assert_eq!(names(&home.json(&["thread", "step-details", hash, "--format", "json"])), *expected);
}

#[test]
fn every_report_names_alias_and_command() {
    check_every_report(&[], &json!(["w", "worker"]));
}

#[test]
fn command_line_of_one_word_has_no_alias() {
    check_every_report(&["--agent", "worker", "--output", "json"], &json!([null, "worker"]));
}

#[test]
fn alias_equal_to_its_command_stays_alias() {
    let home = home();
    home.script("worker", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.config("agents:\n  worker: { command: worker, output: json }\ndefaultAgent: worker\n");
    let thread = home.start_counting(1, "x");
    assert_eq!(names(&home.json(&["thread", "step", &thread])), json!(["worker", "worker"]));
    assert_eq!(names(&home.json(&["thread", "why", &thread])["step"]), json!(["worker", "worker"]));
}

#[test]
fn a_failed_attempt_names_its_agent() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nexit 3\n");
    let thread = home.start_counting(1, "x");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(names(&home.json(&["thread", "why", &thread])["next"]["failed"][0]), json!(["w", "worker"]));
    assert_eq!(names(&event(&home, &thread, "attempt")), json!(["w", "worker"]));
}

#[test]
fn conditions_distinguish_agents_by_command_line() {
    let home = home();
    home.file("worker.sh", "cat > /dev/null; printf -- '---\\nn: 1\\n---\\nfine\\n'\n");
    home.put("do-work", &workflow("do-work", "steps[-1].agent = \"sh worker.sh --fast\""));
    let thread = home.start("do-work", "x");
    let slow = home.json(&["thread", "step", &thread, "--agent", "sh worker.sh --slow"]);
    assert_eq!((names(&slow), &slow["done"]), (json!([null, "sh worker.sh --slow"]), &json!(false)));
    assert_eq!(home.last_step(&thread)["agent"], "sh worker.sh --slow");
    let fast = home.json(&["thread", "step", &thread, "--agent", "sh worker.sh --fast"]);
    assert_eq!((names(&fast), &fast["done"]), (json!([null, "sh worker.sh --fast"]), &json!(true)));
    let steps = home.json(&["thread", "steps", &thread])["steps"].take();
    assert_eq!(names(&steps[2]), json!([null, "sh worker.sh --fast"]));
}
