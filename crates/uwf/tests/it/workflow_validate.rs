//! `uwf workflow validate`: problems of a workflow file with place, snippet and what to do.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::workflow_files::{BROKEN, NOTED, REVIEW, broken};
use crate::home;

/// File and verdict of each workflow that was checked.
fn verdicts(ran: &FinishedRun) -> Vec<(String, bool)> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let files = report.as_array().unwrap().iter();
    files.map(|file| (text(file, "file"), file["valid"].as_bool().unwrap())).collect()
}

pub(crate) fn with_stdin(home: &TestHome, args: &[&str], input: &str) -> FinishedRun {
    let mut child =
        home.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_workflow_comes_from_stdin() {
    let home = home();
    let ran = with_stdin(&home, &["workflow", "validate", "-"], &counting_workflow(1));
    assert_eq!((ran.code, verdicts(&ran)), (Some(0), vec![("stdin".to_owned(), true)]));
    let ran = with_stdin(
        &home,
        &["workflow", "validate", "-"],
        &counting_workflow(1).replace("role: worker", "role: wroker"),
    );
    assert_eq!((ran.code, verdicts(&ran)), (Some(65), vec![("stdin".to_owned(), false)]));
    assert!(ran.stdout.contains("wroker"), "{}", ran.stdout);
}

#[test]
fn without_a_name_the_project_is_checked() {
    let home = home();
    let ran = home.uwf(&["workflow", "validate"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("directory .workflows does not exist here or above"), "{}", ran.stderr);

    let dir = home.work().join(".workflows");
    fs::create_dir(&dir).unwrap();
    assert_eq!(home.uwf(&["workflow", "validate"]).code, Some(69), "it has no workflow files");
    fs::write(dir.join("count-rounds.yaml"), counting_workflow(1)).unwrap();
    fs::write(dir.join("broken.yaml"), "name: broken\n").unwrap();
    fs::write(dir.join("config.yaml"), "defaultAgent: x\n").unwrap();
    let ran = home.uwf(&["workflow", "validate"]);
    assert_eq!(ran.code, Some(65));
    let path = |name: &str| dir.join(name).display().to_string();
    assert_eq!(verdicts(&ran), [(path("broken.yaml"), false), (path("count-rounds.yaml"), true)]);
    assert_eq!(verdicts(&home.uwf(&["workflow", "validate", ".workflows/count-rounds.yaml"])).len(), 1);
    assert_eq!(home.uwf(&["workflow", "validate", "count-rounds"]).code, Some(0), "the name of a project's file");
}

#[test]
fn name_or_hash_selects_stored_workflow() {
    let home = home();
    let hash = home.put("count-rounds", &counting_workflow(1));
    fs::remove_file(home.work().join("count-rounds.yaml")).unwrap();
    for typed in ["count-rounds", hash.as_str(), &hash[..6]] {
        let ran = home.uwf(&["workflow", "validate", typed]);
        assert_eq!((ran.code, verdicts(&ran)), (Some(0), vec![(typed.to_owned(), true)]), "{}", ran.stderr);
    }
    // The schema is looked into as that of a file is: this condition reads a key which it cannot have.
    let warned =
        counting_workflow(1).replace("$count(steps) >= 1", "steps[-1].output.m = 1").replace("count-rounds", "other");
    let warned = warned.replace("required: [n]", "required: [n]\n      additionalProperties: false");
    home.put("other", &warned);
    let stored = home.json(&["workflow", "validate", "other"]);
    let file = home.json(&["workflow", "validate", "other.yaml"]);
    let codes = |report: &Value| {
        let problems = report[0]["problems"].as_array().unwrap().iter();
        problems.map(|problem| problem["code"].clone()).collect::<Vec<_>>()
    };
    assert!(!codes(&file).is_empty(), "{file}");
    assert_eq!(json!(codes(&stored)), json!(codes(&file)));

    let ran = home.uwf(&["workflow", "validate", "count-ruonds"]);
    assert_eq!(ran.code, Some(69));
    assert!(ran.stderr.contains("did you mean `count-rounds`?"), "{}", ran.stderr);
    let nothing = home.uwf(&["workflow", "validate", "nowhere.yaml"]);
    assert_eq!(verdicts(&nothing), [("nowhere.yaml".to_owned(), false)]);
}

#[test]
fn a_note_refuses_nothing_not_even_strictly() {
    let home = home();
    let file = home.file("take-notes.yaml", NOTED);
    let file = file.to_str().unwrap();
    assert_snapshot!(home.transcript(&["workflow", "validate", file, "--strict", "--format", "text"]), @"
    exit 0
    <dir>/work/take-notes.yaml:3:88: note[schema-note]: `required` has `y` before `x`, `properties` has them the other way round; agents are asked in the order of `required`
      |
    3 | …, properties: { x: { type: string }, y: { type: string } }, required: [y, x] } }
      |                                                              ^

    <dir>/work/take-notes.yaml: valid, 1 note
    ");
    assert_eq!(home.uwf(&["workflow", "put", file, "--strict"]).code, Some(0));
}

#[test]
fn unknown_usage_fields_are_reported() {
    let home = home();
    let flow = |expression: &str| {
        counting_workflow(1).replace("count-rounds", "spend").replace("$count(steps) >= 1", expression)
    };
    for (expression, hint) in [
        ("$usage.nope > 1", "what was used has no field `nope`, so it is always missing; did you mean `$usage.cost`?"),
        ("$usage.token > 1", "did you mean `$usage.tokens`?"),
        ("$usage.roles.worker.stpes > 1", "did you mean `$usage.roles.worker.steps`?"),
    ] {
        home.file("spend.yaml", &flow(expression));
        let transcript = home.transcript(&["workflow", "validate", "spend.yaml", "--format", "text"]);
        assert!(transcript.contains(hint), "{expression}: {transcript}");
    }
    home.file("spend.yaml", &flow("$usage.cost > 1 or $usage.roles.worker.seconds > 5"));
    let transcript = home.transcript(&["workflow", "validate", "spend.yaml", "--format", "text"]);
    assert!(transcript.contains("spend.yaml: valid\n") && !transcript.contains("has no field"), "{transcript}");
}

#[test]
fn every_problem_shows_location_and_fix() {
    let home = home();
    home.file("review-text.yaml", &broken());
    assert_snapshot!(home.transcript(&["workflow", "validate", "review-text.yaml", "--format", "text"]), @r#"
    exit 65
    review-text.yaml:5:56: error[bad-schema]: `strin` is not a type; did you mean `string`?
      |
    5 |     meta: { type: object, properties: { title: { type: strin } } }
      |                                                        ^

    review-text.yaml:8:11: error[unknown-schema]: role `reviewer` names schema 0000000000000, which is not in the store
      |
    8 |     meta: 0000000000000
      |           ^
      = hint: `uwf cas schema put FILE` stores a schema; `uwf cas schema list` lists them

    review-text.yaml:10:3: warning[unused-condition]: no transition uses the condition `rejected`
       |
    10 |   rejected: { expression: "steps[-1].output.approved = " }
       |   ^

    review-text.yaml:10:27: error[bad-condition]: the condition `rejected` cannot be used: `steps[-1].output.approved =`: Unexpected end of expression (S0207, character 28)
       |
    10 |   rejected: { expression: "steps[-1].output.approved = " }
       |                           ^

    review-text.yaml:13:21: error[unknown-role]: role `reveiwer` is not defined
       |
    13 |   writer: [ { role: reveiwer } ]
       |                     ^
       = hint: did you mean `reviewer`?

    review-text.yaml:14:3: warning[no-fallback]: when no condition of `reviewer` holds, the thread ends with reason `no-match`
       |
    14 |   reviewer:
       |   ^
       = hint: add a last transition without condition

    review-text.yaml:15:34: error[unknown-condition]: condition `rejcted` is not defined
       |
    15 |     - { role: writer, condition: rejcted }
       |                                  ^
       = hint: did you mean `rejected`?

    review-text.yaml: not valid, 5 errors, 2 warnings
    "#);
    home.file("tab.yaml", BROKEN);
    assert_snapshot!(home.transcript(&["workflow", "validate", "tab.yaml", "--format", "text"]), @r"
    exit 65
    tab.yaml:15:2: error[syntax]: not valid YAML: tabs disallowed within this context (block indentation)
       |
    15 | 	- { role: writer, condition: rejcted }
       | 	^
       = hint: indent with spaces; YAML does not allow tabs there

    tab.yaml: not valid, 1 error
    ");
    assert!(!home.root().join("cas").exists(), "validate writes nothing");
}

#[test]
fn json_report_has_one_entry_per_file() {
    let home = home();
    home.file("review-text.yaml", REVIEW);
    home.file("other-name.yaml", &REVIEW.replace("role: reviewer", "role: reveiwer"));
    fs::write(home.work().join("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    let ran =
        home.uwf(&["workflow", "validate", "review-text.yaml", "other-name.yaml", "nowhere.yaml", "latin1.yaml", "."]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(65), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_snapshot!(format!("{report:#}"), @r#"
    [
      {
        "file": "review-text.yaml",
        "valid": true,
        "problems": []
      },
      {
        "file": "other-name.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "warning",
            "code": "name-not-file",
            "message": "the workflow is named `review-text` but its file `other-name`",
            "hint": "give both the same name",
            "file": "other-name.yaml",
            "line": 1,
            "column": 7
          },
          {
            "severity": "error",
            "code": "unknown-role",
            "message": "role `reveiwer` is not defined",
            "hint": "did you mean `reviewer`?",
            "file": "other-name.yaml",
            "line": 16,
            "column": 21
          }
        ]
      },
      {
        "file": "nowhere.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "cannot read nowhere.yaml: No such file or directory (os error 2)",
            "hint": null,
            "file": "nowhere.yaml",
            "line": 1,
            "column": 1
          }
        ]
      },
      {
        "file": "latin1.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "latin1.yaml is not UTF-8 text (byte 9)",
            "hint": null,
            "file": "latin1.yaml",
            "line": 1,
            "column": 1
          }
        ]
      },
      {
        "file": ".",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "cannot read .: Is a directory (os error 21)",
            "hint": null,
            "file": ".",
            "line": 1,
            "column": 1
          }
        ]
      }
    ]
    "#);
}

#[test]
fn warnings_are_errors_when_asked_to_be_strict() {
    let home = home();
    home.file("other-name.yaml", REVIEW);
    assert_snapshot!(home.transcript(&["workflow", "validate", "other-name.yaml", "--format", "text"]), @r"
    exit 0
    other-name.yaml:1:7: warning[name-not-file]: the workflow is named `review-text` but its file `other-name`
      |
    1 | name: review-text
      |       ^
      = hint: give both the same name

    other-name.yaml: valid, 1 warning
    ");
    assert_snapshot!(home.transcript(&["workflow", "validate", "other-name.yaml", "--strict", "--format", "text"]), @r"
    exit 65
    other-name.yaml:1:7: warning[name-not-file]: the workflow is named `review-text` but its file `other-name`
      |
    1 | name: review-text
      |       ^
      = hint: give both the same name

    other-name.yaml: not valid, 1 warning
    ");
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml", "--strict"]).code, Some(65));
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml"]).code, Some(0));
}
