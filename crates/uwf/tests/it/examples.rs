//! The workflows in `examples/`: each validated strictly and run to its end with scripted agents.

use std::fs;

use uwf_testing::{TestHome, repository, text};

use crate::fixtures::mocked::{CONFIG, mock, script};
use crate::home;

/// A home whose every role is played by a mock with this script.
fn mocked(script: &str) -> TestHome {
    let home = home();
    mock(&home, "", script);
    home
}

/// Runs an example until its thread has ended; tells the roles in order, then how it ended.
fn run(home: &TestHome, file: &str) -> Vec<String> {
    let path = repository().join("examples").join(file);
    let started = home.json(&["thread", "start", path.to_str().unwrap(), "-p", "make it better"]);
    let thread = text(&started, "thread");
    let mut played = Vec::new();
    loop {
        let report = home.json(&["thread", "step", &thread]);
        played.push(text(&report, "role"));
        if report["done"] == true {
            played.push(text(&report, "reason"));
            return played;
        }
        assert!(played.len() < 50, "it does not end: {played:?}");
    }
}

#[test]
fn every_example_is_valid_to_the_letter() {
    let mut files: Vec<String> = fs::read_dir(repository().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml") && !name.ends_with(".config.yaml"))
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "analyze-topic.yaml",
            "best-of-three.yaml",
            "check-release.yaml",
            "develop.yaml",
            "fix-findings.yaml",
            "handle-incident.yaml",
            "resolve-issue.yaml",
            "review-panel.yaml",
            "solve-issue.yaml",
            "translate-docs.yaml",
            "upgrade-dependencies.yaml",
            "write-document.yaml",
            "write-tests.yaml"
        ]
    );
    let home = home();
    for file in files {
        let path = repository().join("examples").join(&file);
        let ran = home.uwf(&["workflow", "validate", "--strict", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let stored = home.json(&["workflow", "put", path.to_str().unwrap()]);
        assert_eq!(Some(text(&stored, "name").as_str()), file.strip_suffix(".yaml"));
    }
}

const SOLVED: &str = r#"
planner:
  - reply: { actionable: true, plan: "Fold case in search().", steps: ["add a failing test", "fold case"] }
developer:
  - expect-prompt: ["make it better", "Fold case in search()."]
    reply: |
      ---
      summary: search folds case
      filesChanged:
        - src/search.rs
      checksPassed: true
      ---
      Ran the tests: 12 passed.
  - expect-prompt: ["what about Turkish?", "That is what I would ask for."]
    reply: { summary: folds case by Unicode rules, filesChanged: [src/search.rs], checksPassed: true }
reviewer:
  - expect-prompt: "Ran the tests: 12 passed."
    reply: |
      ---
      approved: false
      comments:
        - file: src/search.rs
          problem: what about Turkish?
          fix: use the Unicode rules
      ---
      That is what I would ask for.
  - reply: { approved: true, comments: [] }
"#;

#[test]
fn solve_issue_repeats_development_until_review_approves() {
    let home = mocked(SOLVED);
    let played = run(&home, "solve-issue.yaml");
    assert_eq!(played, ["planner", "developer", "reviewer", "developer", "reviewer", "end"]);
}

#[test]
fn solve_issue_ends_with_questions_on_unclear_issue() {
    let home =
        mocked("planner:\n  - reply: { actionable: false, plan: \"\", steps: [], questions: [which search?] }\n");
    assert_eq!(run(&home, "solve-issue.yaml"), ["planner", "end"]);
}

const DEVELOPED: &str = r#"
planner:
  - reply:
      status: planned
      phases:
        - { id: store, title: Keep the setting, doneWhen: the setting survives a restart }
        - { id: theme, title: Dark colours, doneWhen: every page has them }
coder:
  - reply: { phase: store, status: done, summary: stored }
  - reply: { phase: theme, status: failed, summary: the colours are generated }
  - reply: { phase: theme, status: done, summary: generated them darker }
  - reply: { phase: theme, status: done, summary: contrast raised }
  - reply: { phase: store, status: done, summary: default set }
reviewer:
  - reply: { status: changes, changes: ["the contrast of links is too low"] }
  - reply: { status: approved, changes: [] }
    repeat: true
tester:
  - reply: { status: failed, failures: ["cargo test: expected light, got nothing"] }
  - reply: { status: passed, failures: [] }
committer:
  - reply: { commit: 0123456789abcdef0123456789abcdef01234567, message: "settings: dark mode" }
"#;

#[test]
fn develop_builds_phases_then_fixes_findings() {
    let home = mocked(DEVELOPED);
    let played = run(&home, "develop.yaml");
    let expected = [
        ["planner", "coder", "coder", "coder"].as_slice(),
        &["reviewer", "coder", "reviewer", "tester", "coder", "reviewer", "tester"],
        &["committer", "end"],
    ];
    assert_eq!(played, expected.concat());
}

#[test]
fn develop_ends_at_once_when_the_planner_aborts() {
    let home = mocked("planner:\n  - reply: { status: aborted, reason: it contradicts itself, phases: [] }\n");
    assert_eq!(run(&home, "develop.yaml"), ["planner", "end"]);
}

const RESOLVED: &str = r#"
preparer:
  - expect-prompt: make it better
    reply: |
      ---
      ready: true
      task: Add dark mode to the settings page.
      doneWhen: [every page has a dark look]
      ---
      The colours are in theme.css.
submitter:
  - expect-prompt: ["settings: dark mode", "theme.css"]
    reply: { reference: "branch dark-mode", summary: There is a dark mode now. }
"#;

#[test]
fn resolve_issue_delegates_development_to_another_workflow() {
    let home = mocked(&format!("{RESOLVED}{DEVELOPED}"));
    let config = fs::read_to_string(repository().join("examples/resolve-issue.config.yaml")).unwrap();
    let claude = "    command: claude\n    args: [-p, --permission-mode, acceptEdits]\n    output: text\n";
    assert!(config.contains(claude), "{config}");
    home.config(&config.replace(claude, "    command: uwf-mock\n    config: { script: answers.yaml }\n"));
    let develop = repository().join("examples/develop.yaml");
    home.json(&["workflow", "put", develop.to_str().unwrap()]);
    assert_eq!(run(&home, "resolve-issue.yaml"), ["preparer", "developer", "submitter", "end"]);
    let threads = home.json(&["thread", "list", "--all"]);
    let rows: Vec<(&str, &str)> = threads
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["role"].as_str().unwrap(), row["state"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("committer", "completed"), ("submitter", "completed")]);
    let child = home.json(&["thread", "show", threads[0]["thread"].as_str().unwrap()]);
    assert_eq!((&child["parentThread"], &child["steps"]), (&threads[1]["thread"], &serde_json::json!(12)));
    let task = home.uwf(&["thread", "read", threads[0]["thread"].as_str().unwrap()]).stdout;
    for part in ["make it better", "Add dark mode to the settings page.", "The colours are in theme.css."] {
        assert!(task.contains(part), "{part} is not in {task}");
    }
}

#[test]
fn resolve_issue_ends_without_changes_to_make() {
    let home = mocked("preparer:\n  - reply: { ready: false, task: it works as documented, doneWhen: [] }\n");
    assert_eq!(run(&home, "resolve-issue.yaml"), ["preparer", "end"]);
}

#[test]
fn analyze_topic_is_one_step() {
    let home = mocked(
        r"
analyst:
  - reply: |
      ---
      thesis: A command line tool should not need a daemon
      keyPoints:
        - What does not run cannot hang.
        - A file can be looked at.
      caveats:
        - Watching for changes needs something that watches.
      certainty: medium
      ---
      # Analysis

      Daemons are for what has to happen while nobody asks.
",
    );
    assert_eq!(run(&home, "analyze-topic.yaml"), ["analyst", "end"]);
}

#[test]
fn the_readme_of_the_examples_shows_what_works() {
    let readme = fs::read_to_string(repository().join("examples/README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    let block = |mark: &str| *blocks.iter().find(|block| block.contains(mark)).expect("the README has the block");
    let home = home();
    home.config(block("uwf-mock"));
    script(&home, block("expect-prompt"));
    let path = repository().join("examples/solve-issue.yaml");
    let thread = text(&home.json(&["thread", "start", path.to_str().unwrap(), "-p", "Search ignores case"]), "thread");
    let codes: Vec<Option<i32>> = (0..6).map(|_| home.uwf(&["thread", "step", &thread, "--exit-code"]).code).collect();
    assert_eq!(codes, [0, 40, 0, 0, 0, 10].map(Some));
    home.config(block("defaultAgent: claude"));
    assert_eq!(home.uwf(&["thread", "list"]).code, Some(0), "the configuration shown is read");
    let dry = home.json(&["thread", "start", path.to_str().unwrap(), "-p", "x"]);
    let dry = home.uwf(&["thread", "step", &text(&dry, "thread"), "--dry-run"]);
    assert_eq!((dry.code, &dry.json()["alias"]), (Some(0), &serde_json::json!("claude")));
}

#[test]
fn review_panel_plays_reviewers_at_once() {
    let verdict =
        |approved: bool| format!("---\n      approved: {approved}\n      findings: []\n      ---\n      I looked.");
    let script = |docs: bool, design: bool| {
        let yes = verdict(true);
        format!(
            "scope:\n  - reply: |\n      ---\n      summary: a change\n      touchesDocs: {docs}\n      ---\nsecurity:\n  - reply: |\n      {yes}\n\
             correctness:\n  - reply: |\n      {yes}\ndesign:\n  - reply: |\n      {}\ndocs:\n  - reply: |\n      {yes}\n\
             decision:\n  - reply: Rename it.\n",
            verdict(design)
        )
    };
    let path = repository().join("examples/review-panel.yaml");
    for (docs, design, code, roles) in [(true, true, 0, 5), (false, false, 11, 4)] {
        let home = mocked(&script(docs, design));
        home.file("Makefile", "test:\n\t@echo 12 passed\n");
        let ran = home.uwf(&["run", path.to_str().unwrap(), "-p", "Review it."]);
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let reviews = home.json(&["thread", "eval", &text(&report, "thread"), "$last('reviews')"]);
        assert_eq!(reviews.as_object().unwrap().len(), roles, "{reviews}");
        assert_eq!(reviews["tests"]["passed"], true, "{reviews}");
    }
}

const TESTED: &str = r#"
writer:
  - reply: { cases: [{ test: empty_input, behaviour: Empty input is an error. }], bugs: [] }
  - expect-prompt: "1 of 12 failed"
    reply: { cases: [{ test: empty_input, behaviour: Empty input is an error. }], bugs: [A tab is one column.] }
  - expect-prompt: It passes with the broken code.
    reply: { cases: [{ test: empty_input, behaviour: Empty input is an error. }], bugs: [] }
reviewer:
  - reply: { findings: [{ test: empty_input, problem: It passes with the broken code. }], approved: false }
  - reply: { findings: [], approved: true }
"#;

#[test]
fn write_tests_needs_passing_suite_before_review() {
    let home = mocked(TESTED);
    home.file("fails-once", "");
    home.file("Makefile", "test:\n\t@test ! -e fails-once || { rm fails-once; echo 1 of 12 failed; exit 1; }\n");
    let played = run(&home, "write-tests.yaml");
    let expected =
        [["writer", "tests"].as_slice(), &["writer", "tests", "reviewer"], &["writer", "tests", "reviewer"], &["end"]];
    assert_eq!(played, expected.concat());
}

#[test]
fn write_tests_gives_up_on_failing_suite() {
    let home = mocked("writer:\n  - reply: { cases: [], bugs: [] }\n    repeat: true\n");
    home.file("Makefile", "test:\n\t@exit 1\n");
    let path = repository().join("examples/write-tests.yaml");
    let ran = home.uwf(&["run", path.to_str().unwrap(), "-p", "Test it."]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let threads = home.json(&["thread", "list", "--all"]);
    assert_eq!(threads[0]["outcome"], "tests-fail");
    let shown = home.json(&["thread", "show", &text(&threads[0], "thread")]);
    assert_eq!(shown["steps"], 8, "{shown}");
}

const INVESTIGATED: &str = r"
logs: &one
  - reply: { observations: [{ seen: The database answers too late., source: gateway.log }], suspect: the database }
changes: *one
metrics: *one
lead:
  - expect-prompt: The database answers too late.
    reply: { cause: too many queries, certainty: medium, mitigation: Add a replica., undo: Remove it. }
  - expect-prompt: A replica takes an hour.
    reply: { cause: too many queries, certainty: high, mitigation: Roll back., undo: Deploy. }
responder:
  - expect-prompt: Roll back.
    reply: { done: true, commands: [make rollback] }
report:
  - reply: The checkout failed for 21 minutes.
";

/// A home with an incident whose mitigation a person must approve.
fn incident() -> (TestHome, String) {
    let home = home();
    let person = "agentOverrides: { handle-incident: { approver: me } }\n";
    let config = CONFIG.replacen("agents:\n", "agents:\n  me: { command: uwf-human }\n", 1);
    home.config(&format!("{config}{person}"));
    script(&home, INVESTIGATED);
    home.file("Makefile", "health:\n\t@echo well\n");
    let path = repository().join("examples/handle-incident.yaml");
    let ran = home.uwf(&["run", path.to_str().unwrap(), "-p", "Checkout answers with 502."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    (home, text(&report, "thread"))
}

#[test]
fn incident_is_mitigated_after_approval_by_a_person() {
    let (home, thread) = incident();
    let second = r#"{"decision": "think-again", "comment": "A replica takes an hour."}"#;
    for (answer, code) in [(second, 20), (r#"{"decision": "approve"}"#, 0)] {
        let answered = home.uwf(&["thread", "answer", &thread, "--data", answer]);
        assert_eq!(answered.code, Some(0), "{}", answered.transcript());
        let ran = home.uwf(&["run", &thread]);
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
    }
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('report')"]), "The checkout failed for 21 minutes.");
}

#[test]
fn person_can_take_over_an_incident() {
    let (home, thread) = incident();
    let answered = home.uwf(&["thread", "answer", &thread, "--data", r#"{"decision": "take-over"}"#]);
    assert_eq!(answered.code, Some(11), "{}", answered.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["outcome"], "taken-over");
}
