//! `uwf workflow history` and `rollback`: earlier versions of a name.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, text};

use crate::fixtures::workflow_files::REVIEW;
use crate::home;

/// Stores three versions of a workflow; returns their hashes, oldest first.
fn three_versions(home: &TestHome) -> [String; 3] {
    ["first", "second", "third"]
        .map(|version| home.put("review-text", &REVIEW.replace("A writer", &format!("The {version} writer"))))
}

#[test]
fn name_moves_to_earlier_and_later_versions() {
    let home = home();
    let [first, second, third] = three_versions(&home);
    let versions = |home: &TestHome| -> Vec<String> {
        home.json(&["workflow", "history", "review-text"])
            .as_array()
            .unwrap()
            .iter()
            .map(|version| text(version, "hash"))
            .collect()
    };
    assert_eq!(versions(&home), [&*third, &second, &first]);
    assert_snapshot!(home.transcript(&["workflow", "history", "review-text"]), @r#"
    exit 0
    [{"hash":"FX7HXKTYXJ856","timestamp":<ms>,"current":true},{"hash":"2AKCN2P3T3J6X","timestamp":<ms>,"current":false},{"hash":"8FGEQNWWER5EN","timestamp":<ms>,"current":false}]
    "#);
    assert_snapshot!(home.transcript(&["workflow", "history", "review-text", "--format", "text"]), @r"
    exit 0
    hash           since
    FX7HXKTYXJ856  <time>  current
    2AKCN2P3T3J6X  <time>
    8FGEQNWWER5EN  <time>
    ");

    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-text"]), @r#"
    exit 0
    {"name":"review-text","hash":"2AKCN2P3T3J6X","previous":"FX7HXKTYXJ856"}
    "#);
    assert_eq!(versions(&home), [&*second, &third, &first]);
    assert_eq!(home.json(&["workflow", "show", "review-text"])["hash"], json!(second));
    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-text", "--format", "text"]), @r"
    exit 0
    review-text is FX7HXKTYXJ856 now, 2AKCN2P3T3J6X before
    ");
    assert_eq!(versions(&home), [&*third, &second, &first]);
    home.json(&["workflow", "rollback", "review-text", &first[..4]]);
    assert_eq!(versions(&home), [&*first, &third, &second]);
    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-text", &first, "--format", "text"]), @r"
    exit 0
    review-text is 8FGEQNWWER5EN already
    ");

    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-text", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: workflow `review-text` has no version 0000000000000 in its history
    hint: `uwf workflow history review-text` lists the versions that exist
    ");
    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-text", "0000"]), @r"
    exit 69
    --- stderr
    error: no version of workflow `review-text` begins with 0000
    hint: `uwf workflow history review-text` lists them
    ");
    assert_snapshot!(home.transcript(&["workflow", "rollback", "review-txet"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-txet`
    hint: did you mean `review-text`?
    ");
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
