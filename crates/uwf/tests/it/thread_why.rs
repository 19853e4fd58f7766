//! `uwf thread why`: what a step was decided by, and how its output was obtained, as people see it. More is in
//! `crates/uwf-engine/tests/it/why.rs`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::fixtures::faults::with_fault;
use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::{home, transcript};

/// The thread of the reviewed text at its end: writer, reviewer, writer, reviewer.
fn reviewed() -> (TestHome, String) {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 4);
    (home, thread)
}

fn why(home: &TestHome, what: &str) -> Value {
    home.json(&["thread", "why", what])
}

/// Hash of a step's output.
fn output_of(home: &TestHome, step: &Value) -> String {
    text(&home.json(&["cas", "get", &text(step, "hash")])["payload"], "output")
}

#[test]
fn a_step_is_explained_by_what_decided_it() {
    let (home, thread) = reviewed();
    let third = &hashes(&home, &thread)[3];
    assert_snapshot!(transcript(&home, &["thread", "why", third, "--format", "text"]), @"
    exit 0
    review-text thread <id>

    3. writer by writer: #1
    chosen after reviewer: writer
      ✓ → writer if rejected (not good yet): the expression gave true
          steps[-1].output.approved = false → true
          steps[-1].output.approved is false
    output obtained
      frontmatter: read from the header of the agent's answer
      uwf thread step-details #2 shows everything
    ");
    let report = why(&home, third);
    assert_eq!((&report["step"]["asChosen"], &report["step"]["after"]), (&json!(true), &json!("reviewer")));
    assert_eq!(report["thread"], *thread);
    assert_eq!(why(&home, &third[..8]), report, "a beginning of the hash is enough");
    home.json(&["thread", "rm", &thread]);
    let transcript = transcript(&home, &["thread", "why", third, "--format", "text"]);
    assert!(
        transcript.contains("no thread of this machine") && transcript.contains("steps[-1].output.approved is false"),
        "{transcript}"
    );
}

#[test]
fn thread_explains_newest_step_and_next_role() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_snapshot!(transcript(&home, &["thread", "why", &thread, "--format", "text"]), @"
    exit 0
    review-text thread <id>

    now active
    next: writer
      ✓ → writer: it has no condition
    ");
    step(&home, &thread, 2);
    assert_snapshot!(transcript(&home, &["thread", "why", "@", "--format", "text"]), @"
    exit 0
    review-text thread <id>

    2. reviewer by reviewer: #1
    chosen after writer: reviewer
      ✓ → reviewer: it has no condition
    output obtained
      submit: the agent gave it as a value
      uwf thread step-details #2 shows everything

    now active
    next: writer
      ✓ → writer if rejected (not good yet): the expression gave true
          steps[-1].output.approved = false → true
          steps[-1].output.approved is false
    ");
    step(&home, &thread, 2);
    assert_snapshot!(transcript(&home, &["thread", "why", "--last", "--format", "text"]), @"
    exit 0
    review-text thread <id>

    4. reviewer by reviewer: #1
    chosen after writer: reviewer
      ✓ → reviewer: it has no condition
    output obtained
      submit: the agent gave it as a value
      uwf thread step-details #2 shows everything

    now completed: end
    ended by: $END
      · → writer if rejected (not good yet): the expression gave false
          steps[-1].output.approved = false → false
          steps[-1].output.approved is true
      ✓ → $END: it has no condition
    ");
}

#[test]
fn usage_is_shown_as_of_step() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &uwf_testing::counting_workflow(3).replace("$count(steps)", "$usage.steps"));
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 3);
    let cache = walk(&home.root().join("cache"));
    let report = why(&home, &hashes(&home, &thread)[2]);
    let considered = &report["step"]["routing"]["considered"][0];
    assert_eq!(considered["reads"], json!([{ "what": "$usage.steps", "value": 1 }]), "{report}");
    assert!(walk(&home.root().join("cache")) == cache, "what was summed up is kept");
}

fn walk(dir: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() { walk(&path) } else { vec![(path.display().to_string(), fs::read(&path).unwrap())] }
        })
        .collect()
}

#[test]
fn failed_attempts_at_the_next_step_are_shown() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    assert_snapshot!(transcript(&home, &["thread", "why", &thread, "--format", "text"]), @"
    exit 0
    review-text thread <id>

    now stuck: agent `broken` exited with 3; its last words: no licence for `claude`
    next: writer
      ✓ → writer: it has no condition
      failed before: #1 by broken, exit code 3: agent `broken` exited with 3; its last words: no licence for `claude`
    ");
    home.json(&["thread", "kill", &thread]);
    let transcript = transcript(&home, &["thread", "why", &thread, "--format", "text"]);
    assert!(transcript.contains("now killed") && transcript.contains("would have come next: writer"), "{transcript}");
}

#[test]
fn failures_that_are_alike_are_one_line() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    for agent in ["broken", "broken", "broken", "sh -c 'exit 4'", "broken"] {
        assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", agent]).code, Some(40));
    }
    let shown = transcript(&home, &["thread", "why", &thread, "--format", "text"]);
    let failures: Vec<&str> = shown.lines().filter(|line| line.trim().starts_with("failed")).collect();
    let starts = ["  failed 3 times before, last #", "  failed before: #", "  failed before: #"];
    assert_eq!(failures.len(), 3, "{shown}");
    assert!(failures.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{shown}");
    let report = home.json(&["thread", "why", &thread]);
    assert_eq!(report["next"]["failed"].as_array().unwrap().len(), 5, "the report has each of them");
}

#[test]
fn other_hashes_are_rejected_as_steps() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    let steps = home.json(&["thread", "steps", &thread]);
    let output = output_of(&home, &steps["steps"][1]);
    for (what, code, message) in [
        ("ZZZZ", 69, "no thread begins or ends with `ZZZZ`"),
        ("0000000000000", 69, "0000000000000"),
        ("x", 64, "`x` is too short"),
        (&output, 65, "a StepNode was expected"),
        (&text(&steps["steps"][0], "hash"), 65, "is a StartNode, a StepNode was expected"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", 69, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ] {
        let ran = home.uwf(&["thread", "why", what]);
        assert_eq!(ran.code, Some(code), "{what}: {ran:?}");
        assert!(ran.stderr.contains(message), "{what}: {}", ran.stderr);
    }
    assert_eq!(home.uwf(&["thread", "why"]).code, Some(64));
}

mod with_tools {
    use super::*;

    #[test]
    fn an_answer_that_was_read_again_says_so() {
        let home = home();
        home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
        let thread = home.start_counting(1, "count");
        assert_eq!(with_fault(&home, "fsync:error=ENOSPC", &["thread", "step", &thread]).code, Some(74));
        home.json(&["thread", "step", &thread]);
        let output = why(&home, &thread)["step"]["output"].take();
        assert_eq!(text(&output, "reread"), text(&output["failed"][0], "attempt"));
        let transcript = transcript(&home, &["thread", "why", &thread, "--format", "text"]);
        assert!(transcript.contains("read again from the text of the failed attempt #"), "{transcript}");
    }
}
