//! `uwf workflow validate` on everything that can stand for a workflow.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::{Ran, TestHome, counting_workflow, text};

use crate::home;

/// File and verdict of each workflow that was checked.
fn verdicts(ran: &Ran) -> Vec<(String, bool)> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let files = report.as_array().unwrap().iter();
    files.map(|file| (text(file, "file"), file["valid"].as_bool().unwrap())).collect()
}

fn with_stdin(home: &TestHome, args: &[&str], input: &str) -> Ran {
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
    assert!(ran.stderr.contains("there is no directory .workflows here or above"), "{}", ran.stderr);

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
fn a_name_or_hash_stands_for_what_is_stored() {
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
