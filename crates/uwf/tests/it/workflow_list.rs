//! `uwf workflow list`: names in the registry and in the project.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixtures::workflow_files::REVIEW;
use crate::home;

#[test]
fn project_files_are_listed_and_override_registry() {
    let home = home();
    assert_snapshot!(home.transcript(&["workflow", "list"]), @r"
    exit 0
    []
    ");
    assert_snapshot!(home.transcript(&["workflow", "list", "--format", "text"]), @r"
    exit 0
    no workflows yet; `uwf workflow put FILE` stores one
    ");
    home.put("review-text", REVIEW);
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("review-text.yaml"), REVIEW.replace("A writer", "Our writer")).unwrap();
    fs::write(project.join("broken.yaml"), "name: [").unwrap();
    fs::create_dir_all(home.work().join("sub/dir")).unwrap();
    assert_snapshot!(home.transcript(&["workflow", "list"]), @r#"
    exit 0
    [{"name":"broken","hash":null,"origin":"<dir>/work/.workflows/broken.yaml","problem":"not valid: not valid YAML: while parsing a node, did not find expected node content (line 2); `uwf workflow validate` shows all"},{"name":"review-text","hash":"40R8F77Y33RXP","origin":"<dir>/work/.workflows/review-text.yaml"},{"name":"review-text","hash":"DFESR7ANW2DZG","origin":"registry","timestamp":<ms>}]
    "#);
    assert_snapshot!(home.transcript(&["workflow", "list", "--format", "text"]), @r"
    exit 0
    name         hash           origin
    broken       -              <dir>/work/.workflows/broken.yaml  ! not valid: not valid YAML: while parsing a node, did not find expected node content (line 2); `uwf workflow validate` shows all
    review-text  40R8F77Y33RXP  <dir>/work/.workflows/review-text.yaml
    review-text  DFESR7ANW2DZG  registry
    ");

    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "Our writer and a reviewer.");
    assert_snapshot!(home.steady(&String::from_utf8_lossy(&output.stderr)), @"warning: <dir>/work/.workflows/review-text.yaml shadows the registry's `review-text`");

    // The search does not leave the repository: `.git` may be a file too.
    fs::write(home.work().join("sub/.git"), "gitdir: elsewhere\n").unwrap();
    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "A writer and a reviewer.");
}

#[test]
fn unreadable_registry_is_error_and_stays_unchanged() {
    let home = home();
    home.put("review-text", REVIEW);
    let registry = home.root().join("registry.yaml");
    for damaged in ["", "review-text: [", "- a\n- b\n", "review-text: { hash: nonsense }\n"] {
        fs::write(&registry, damaged).unwrap();
        for args in
            [&["workflow", "list"][..], &["workflow", "rm", "review-text"], &["workflow", "put", "review-text.yaml"]]
        {
            assert_eq!(home.uwf(args).code, Some(65), "{damaged:?}: {args:?}");
        }
        assert_eq!(fs::read_to_string(&registry).unwrap(), damaged);
    }
    assert_snapshot!(home.transcript(&["workflow", "list"]), @"
    exit 65
    --- stderr
    error: <dir>/root/registry.yaml is not readable: line 1 column 22: `nonsense` is not a hash: a hash has 13 symbols
    hint: repair it or restore it from a backup; the workflows themselves are safe in the store
    ");
}

#[test]
fn plain_and_older_registry_formats_are_read() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    fs::write(home.root().join("workflows.yaml"), format!("# by hand\nreview-text: \"{hash}\"\n")).unwrap();
    assert_eq!(
        home.json(&["workflow", "list"]),
        json!([{ "name": "review-text", "hash": hash, "origin": "registry" }])
    );
    assert_eq!(
        home.json(&["workflow", "history", "review-text"]),
        json!([{ "hash": hash, "timestamp": 0, "current": true }])
    );
    // Digits only, and nobody quoted them; so too with one E.
    for written in ["6519566623692", "21604619E9284", "\n  hash: 21604619E9284\n  timestamp: 5\n"] {
        fs::write(home.root().join("workflows.yaml"), format!("review-text: {written}\n")).unwrap();
        let listed = home.json(&["workflow", "list"]);
        assert!(written.contains(listed[0]["hash"].as_str().unwrap()), "{written}: {listed}");
    }
    fs::write(home.root().join("workflows.yaml"), format!("review-text: {hash}\n")).unwrap();
    let second = home.put("review-text", &REVIEW.replace("A writer", "Another writer"));
    let versions = home.json(&["workflow", "history", "review-text"]);
    assert_eq!([&versions[0]["hash"], &versions[1]["hash"]], [&json!(second), &json!(hash)]);
}
