//! Workflows through the command: validate, show, list, names and their versions, the graph.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

const REVIEW: &str = r#"name: review-text
description: A writer and a reviewer.
roles:
  writer:
    description: writes one sentence
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: string }, words: { type: integer } }, required: [title] }
  reviewer:
    description: approves it or not
    goal: Approve or not.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
conditions:
  rejected: { description: not good yet, expression: "steps[-1].output.approved = false" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer:
    - { role: writer, condition: rejected }
    - { role: $END }
"#;

/// The same with one mistake of each kind that people make.
const BROKEN: &str = r#"name: review-text
roles:
  writer:
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: strin } } }
  reviewer:
    goal: Approve or not.
    meta: 0000000000000
conditions:
  rejected: { expression: "steps[-1].output.approved = " }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reveiwer } ]
  reviewer:
	- { role: writer, condition: rejcted }
"#;

fn broken() -> String {
    BROKEN.replace('\t', "    ")
}

/// Stores three versions of a workflow; returns their hashes, oldest first.
fn three_versions(home: &TestHome) -> [String; 3] {
    ["first", "second", "third"].map(|version| home.put("review-text", &REVIEW.replace("A writer", &format!("The {version} writer"))))
}

#[test]
fn every_problem_is_shown_with_its_place_and_what_to_do() {
    let home = home();
    home.file("review-text.yaml", &broken());
    assert_snapshot!(home.told(&["workflow", "validate", "review-text.yaml", "--format", "text"]), @"");
    home.file("tab.yaml", BROKEN);
    assert_snapshot!(home.told(&["workflow", "validate", "tab.yaml", "--format", "text"]), @"");
    assert!(!home.root().join("cas").exists(), "validate writes nothing");
}

#[test]
fn problems_are_data_for_programs_one_entry_a_file() {
    let home = home();
    home.file("review-text.yaml", REVIEW);
    home.file("other-name.yaml", &REVIEW.replace("role: reviewer", "role: reveiwer"));
    fs::write(home.work().join("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    let ran = home.uwf(&["workflow", "validate", "review-text.yaml", "other-name.yaml", "nowhere.yaml", "latin1.yaml", "."]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(65), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_snapshot!(format!("{report:#}"), @"");
}

#[test]
fn warnings_are_errors_when_asked_to_be_strict() {
    let home = home();
    home.file("other-name.yaml", REVIEW);
    assert_snapshot!(home.told(&["workflow", "validate", "other-name.yaml", "--format", "text"]), @"");
    assert_snapshot!(home.told(&["workflow", "validate", "other-name.yaml", "--strict", "--format", "text"]), @"");
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml", "--strict"]).code, Some(65));
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml"]).code, Some(0));
}

#[test]
fn what_validate_takes_put_takes_and_what_it_refuses_put_refuses() {
    let home = home();
    let schema = text(&home.json(&["cas", "schema", "put", r#"{"type":"object"}"#]), "hash");
    let by_hash = |hash: &str| REVIEW.replace("meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }", &format!("meta: {hash}"));
    for (name, content, code) in [
        ("inline", REVIEW.to_owned(), 0),
        ("stored-schema", by_hash(&schema), 0),
        ("unknown-schema", by_hash("0000000000001"), 65),
        ("broken", broken(), 65),
        ("empty", String::new(), 65),
        ("list", "[1, 2]".to_owned(), 65),
    ] {
        let file = home.file(&format!("{name}.yaml"), &content);
        let codes = ["validate", "put"].map(|command| home.uwf(&["workflow".as_ref(), command.as_ref(), file.as_os_str()]).code);
        assert_eq!(codes, [Some(code); 2], "{name}");
    }
}

#[test]
fn a_workflow_is_shown_by_name_hash_beginning_and_file() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "show", "review-text", "--format", "text"]), @"");
    assert_snapshot!(home.told(&["workflow", "show", "review-text"]), @"");
    let by_name = home.uwf(&["workflow", "show", "review-text"]);
    for typed in [&hash[..], &hash[..4], "review-text.yaml", "./review-text.yaml"] {
        assert_eq!(home.uwf(&["workflow", "show", typed]), by_name, "{typed}");
    }
    assert_snapshot!(home.told(&["workflow", "show", "reveiw-text"]), @"");
    assert_snapshot!(home.told(&["workflow", "show", "nowhere.yaml"]), @"");
    let node = text(&home.json(&["cas", "put-text", "no workflow"]), "hash");
    assert_snapshot!(home.told(&["workflow", "show", &node]), @"");
}

#[test]
fn the_graph_is_mermaid_unless_told_otherwise() {
    let home = home();
    home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "graph", "review-text"]), @"");
    assert_snapshot!(home.told(&["workflow", "graph", "review-text", "--format", "json"]), @"");
}

#[test]
fn files_of_the_project_are_listed_and_go_before_the_registry() {
    let home = home();
    assert_snapshot!(home.told(&["workflow", "list"]), @"");
    assert_snapshot!(home.told(&["workflow", "list", "--format", "text"]), @"");
    home.put("review-text", REVIEW);
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("review-text.yaml"), REVIEW.replace("A writer", "Our writer")).unwrap();
    fs::write(project.join("broken.yaml"), "name: [").unwrap();
    fs::create_dir_all(home.work().join("sub/dir")).unwrap();
    assert_snapshot!(home.told(&["workflow", "list"]), @"");
    assert_snapshot!(home.told(&["workflow", "list", "--format", "text"]), @"");

    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "Our writer and a reviewer.");
    assert_snapshot!(home.steady(&String::from_utf8_lossy(&output.stderr)), @"");

    // The search does not leave the repository: `.git` may be a file too.
    fs::write(home.work().join("sub/.git"), "gitdir: elsewhere\n").unwrap();
    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "A writer and a reviewer.");
}

#[test]
fn a_name_can_be_given_back_to_an_earlier_version_and_forward_again() {
    let home = home();
    let [first, second, third] = three_versions(&home);
    let versions = |home: &TestHome| -> Vec<String> {
        home.json(&["workflow", "history", "review-text"]).as_array().unwrap().iter().map(|version| text(version, "hash")).collect()
    };
    assert_eq!(versions(&home), [&*third, &second, &first]);
    assert_snapshot!(home.told(&["workflow", "history", "review-text"]), @"");
    assert_snapshot!(home.told(&["workflow", "history", "review-text", "--format", "text"]), @"");

    assert_snapshot!(home.told(&["workflow", "rollback", "review-text"]), @"");
    assert_eq!(versions(&home), [&*second, &third, &first]);
    assert_eq!(home.json(&["workflow", "show", "review-text"])["hash"], json!(second));
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "--format", "text"]), @"");
    assert_eq!(versions(&home), [&*third, &second, &first]);
    home.json(&["workflow", "rollback", "review-text", &first[..4]]);
    assert_eq!(versions(&home), [&*first, &third, &second]);
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", &first, "--format", "text"]), @"");

    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "0000000000000"]), @"");
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "0000"]), @"");
    assert_snapshot!(home.told(&["workflow", "rollback", "review-txet"]), @"");
}

#[test]
fn a_thread_keeps_the_version_it_began_with() {
    let home = home();
    let [_, second, third] = three_versions(&home);
    let thread = home.start("review-text", "write");
    home.json(&["workflow", "rollback", "review-text"]);
    let later = home.start("review-text", "write");
    let workflow = |thread: &str| text(&home.json(&["thread", "show", thread]), "workflow");
    assert_eq!([workflow(&thread), workflow(&later)], [third, second]);
}

#[test]
fn a_name_is_removed_and_its_workflow_stays() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "rm", "review-txt"]), @"");
    assert_snapshot!(home.told(&["workflow", "rm", "review-text"]), @"");
    assert_snapshot!(home.told(&["workflow", "rm", "review-text"]), @"");
    assert_eq!(home.json(&["workflow", "list"]), json!([]));
    assert_eq!(home.json(&["workflow", "show", &hash])["hash"], json!(hash));
    assert_eq!(fs::read_to_string(home.root().join("registry.yaml")).unwrap(), "{}\n");
}

#[test]
fn names_of_the_project_have_their_history_elsewhere() {
    let home = home();
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("review-text.yaml"), REVIEW).unwrap();
    for command in ["rm", "history", "rollback"] {
        let ran = home.uwf(&["workflow", command, "review-text"]);
        assert_eq!(ran.code, Some(69), "{command}");
        assert!(ran.stderr.contains("`review-text` is the project's file"), "{command}: {}", ran.stderr);
    }
}

#[test]
fn an_unreadable_registry_is_an_error_and_stays_as_it_is() {
    let home = home();
    home.put("review-text", REVIEW);
    let registry = home.root().join("registry.yaml");
    for damaged in ["", "review-text: [", "- a\n- b\n", "review-text: { hash: nonsense }\n"] {
        fs::write(&registry, damaged).unwrap();
        for args in [&["workflow", "list"][..], &["workflow", "rm", "review-text"], &["workflow", "put", "review-text.yaml"]] {
            assert_eq!(home.uwf(args).code, Some(65), "{damaged:?}: {args:?}");
        }
        assert_eq!(fs::read_to_string(&registry).unwrap(), damaged);
    }
    assert_snapshot!(home.told(&["workflow", "list"]), @"");
}

#[test]
fn the_plain_form_of_the_registry_and_that_of_an_older_store_are_read() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    fs::write(home.root().join("workflows.yaml"), format!("# by hand\nreview-text: \"{hash}\"\n")).unwrap();
    assert_eq!(home.json(&["workflow", "list"]), json!([{ "name": "review-text", "hash": hash, "origin": "registry" }]));
    assert_eq!(home.json(&["workflow", "history", "review-text"]), json!([{ "hash": hash, "timestamp": 0, "current": true }]));
    let second = home.put("review-text", &REVIEW.replace("A writer", "Another writer"));
    let versions = home.json(&["workflow", "history", "review-text"]);
    assert_eq!([&versions[0]["hash"], &versions[1]["hash"]], [&json!(second), &json!(hash)]);
}
