//! Groups as commands show them: each branch with its path, state, agent, time and cost.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// A plan, then three reviewers at once, the last only if asked for.
const PANEL: &str = "name: panel
description: reviewers at once
roles:
  planner: { goal: You plan., meta: { type: object, properties: { docs: { type: boolean } }, required: [docs] } }
  security: { goal: You look for holes., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  tests: { goal: You judge the tests., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  docs: { goal: You read the manual. }
  reviews:
    play: [ security, tests, { role: docs, condition: wants-docs } ]
  judge: { goal: You decide. }
conditions:
  wants-docs: { expression: \"$last('planner').docs\" }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: reviews } ]
  reviews: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// An agent that runs `ROLE.sh`.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\nsh ./$UWF_ROLE.sh\n";

fn panel() -> TestHome {
    let home = home();
    home.put("panel", PANEL);
    home.script("worker", AGENT);
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    answer(&home, "planner", "docs: false");
    answer(&home, "security", "approved: true");
    answer(&home, "tests", "approved: true");
    home.file("docs.sh", "echo 'The manual is fine.'\n");
    home.file("judge.sh", "echo 'Ship it.'\n");
    home
}

fn answer(home: &TestHome, role: &str, header: &str) {
    home.file(&format!("{role}.sh"), &format!("printf -- '---\\n{header}\\n---\\nI am {role}.\\n'\n"));
}

fn thread_of(ran: &FinishedRun) -> String {
    text(&serde_json::from_str::<Value>(ran.stdout.lines().last().unwrap()).unwrap(), "thread")
}

/// Lets a branch wait until the file `go` exists, and starts the step that plays it.
fn held_branch(home: &TestHome, role: &str) -> (String, Child) {
    let held = "touch begun\nn=0\nwhile ! test -e go; do n=$((n + 1)); test $n -lt 400 || exit 3; sleep 0.05; done\n";
    home.file(&format!("{role}.sh"), &format!("{held}printf -- '---\\napproved: true\\n---\\n'\n"));
    let thread = home.start("panel", "Review it.");
    home.json(&["thread", "step", &thread]);
    let step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the branch is at work", || home.work().join("begun").exists());
    (thread, step)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn release(home: &TestHome, mut step: Child) {
    home.file("go", "");
    assert!(step.wait().unwrap().success());
}

fn branch<'a>(shown: &'a Value, name: &str) -> &'a Value {
    shown["group"]["branches"].as_array().unwrap().iter().find(|branch| branch["name"] == name).unwrap()
}

#[test]
fn run_prints_branches_as_they_end() {
    let home = panel();
    home.file(
        "tests.sh",
        "n=0\nwhile ! test -e go; do n=$((n + 1)); test $n -lt 400 || exit 3; sleep 0.05; done\nexit 3\n",
    );
    let log = home.work().join("log");
    let mut run = home.command(&["run", "panel", "-p", "x"]).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let lines = || fs::read_to_string(&log).unwrap();
    until("the first branch has ended", || lines().contains("✓ reviews.security by t, "));
    assert!(lines().contains("▸ reviews.tests by t"), "{}", lines());
    assert!(!lines().contains("✗ reviews.tests"), "it is still at work: {}", lines());
    home.file("go", "");
    assert_eq!(run.wait().unwrap().code(), Some(40));
    assert!(lines().contains("✗ reviews.tests by t, "), "{}", lines());
    assert_eq!(lines().matches("✓ reviews.security").count(), 1, "{}", lines());
    answer(&home, "tests", "approved: true");
    let again = home.uwf(&["run", "@"]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert!(again.stderr.contains("✓ reviews.tests by t, "), "{}", again.stderr);
    assert!(!again.stderr.contains("reviews.security"), "it had ended before: {}", again.stderr);
    assert!(!again.stderr.contains("✗"), "{}", again.stderr);
}

#[test]
fn show_lists_branches_of_the_newest_group() {
    let home = panel();
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nagentOverrides: { panel: { security: h } }\n");
    home.file("tests.sh", "echo broken >&2\nexit 3\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["group"]["role"], "reviews");
    assert_eq!(shown["group"]["leftOut"], json!(["docs"]));
    let (security, tests) = (branch(&shown, "security"), branch(&shown, "tests"));
    assert_eq!((&security["state"], &security["alias"]), (&json!("waiting"), &json!("h")));
    assert_eq!((&tests["state"], &tests["alias"]), (&json!("stuck"), &json!("t")));
    assert!(text(tests, "why").contains("exited with 3"), "{tests}");
    assert_eq!(home.json(&["thread", "show", &text(tests, "thread")])["parentThread"], shown["group"]["thread"]);
    let words = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    let line = |name: &str| words.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{words}"));
    assert!(line("reviews.tests").contains("stuck"), "{words}");
    assert!(line("reviews.security").contains("waiting"), "{words}");
    assert!(words.contains("left out by conditions: docs"), "{words}");

    answer(&home, "tests", "approved: true");
    home.uwf(&["thread", "retry", &thread]);
    home.json(&["thread", "answer", &thread, "--data", "{\"approved\": true}"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["group"]["index"], 2);
    let tests = branch(&shown, "tests");
    assert_eq!(tests["state"], "completed");
    assert_eq!((&tests["spent"]["steps"], &tests["spent"]["failedAttempts"]), (&json!(1), &json!(1)));
    assert!(tests["startedAt"].as_u64().unwrap() <= tests["endedAt"].as_u64().unwrap());
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    let forked = home.json(&["thread", "show", &fork]);
    assert_eq!(branch(&forked, "tests")["step"], tests["step"], "a fork shares the steps of the branches");
}

#[test]
fn ps_and_list_name_branches_by_path() {
    let home = panel();
    let (thread, step) = held_branch(&home, "tests");
    let running = home.json(&["thread", "ps"]);
    let paths: Vec<&Value> = running.as_array().unwrap().iter().map(|step| &step["branch"]).collect();
    assert!(paths.contains(&&json!("reviews.tests")), "{running}");
    let words = home.uwf(&["thread", "ps", "--format", "text"]).stdout;
    assert!(words.contains("reviews.tests"), "{words}");
    let words = home.uwf(&["thread", "list", "--format", "text"]).stdout;
    assert!(words.lines().any(|line| line.contains("  └ ") && line.contains("reviews.tests")), "{words}");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(branch(&shown, "tests")["state"], "running");
    release(&home, step);
}

#[test]
fn live_prefixes_lines_of_branches() {
    let home = panel();
    let (thread, step) = held_branch(&home, "tests");
    let log = home.work().join("log");
    let mut live =
        home.command(&["live", &thread, "--format", "text"]).stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let lines = || fs::read_to_string(&log).unwrap();
    until("the running branch is followed", || lines().contains("reviews.tests │ ▸ tests by t"));
    release(&home, step);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    assert!(live.wait().unwrap().success());
    assert!(lines().contains("reviews.security │ I am security."), "{}", lines());
    let events = home.uwf(&["live", &thread, "--format", "json"]).stdout;
    let ended = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ended: Vec<String> = ended
        .filter(|event| event["event"] == "end")
        .filter_map(|event| Some(event["branch"].as_str()?.to_owned()))
        .collect();
    ended.sort();
    assert_eq!(ended, ["reviews.security", "reviews.tests"]);
}

#[test]
fn path_of_nested_branch_names_all_groups() {
    let home = panel();
    home.put(
        "panel",
        &PANEL
            .replace("play: [ security, tests, {", "play: [ both, {")
            .replace("  judge: {", "  both: { play: [ security, tests ] }\n  judge: {"),
    );
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    for line in ["✓ reviews.both.security by t, ", "✓ reviews.both.tests by t, ", "✓ reviews.both by uwf-play, "]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let shown = home.json(&["thread", "show", &thread_of(&ran)]);
    assert_eq!(branch(&shown, "both")["group"]["branches"][1]["branch"], "reviews.both.tests");
}
