//! `uwf config edit`: the configuration in an editor.

use std::fs;

use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::configuration::{configured, file};

/// A `uwf config edit` with an editor that is a line of sh; the file is `$1`.
fn edited(home: &TestHome, editor: &str) -> uwf_testing::FinishedRun {
    let editor = home.script("editor", &format!("#!/bin/sh\n{editor}\n"));
    home.command(&["config", "edit"]).env("VISUAL", editor).output().unwrap().into()
}

#[test]
fn the_file_is_edited_as_a_whole() {
    let home = configured();
    let before = file(&home);
    let draft = home.root().join("config.draft.yaml");
    let report = edited(&home, "echo 'maxSteps: 7' >> \"$1\"").json();
    assert_eq!(report["changed"], json!(true));
    assert_eq!(file(&home), format!("{before}maxSteps: 7\n"));
    assert!(!draft.exists());
    assert_eq!(edited(&home, ":").json()["changed"], json!(false));

    let before = file(&home);
    let refused = edited(&home, "echo 'maxDepth: deep' >> \"$1\"");
    assert_eq!((refused.code, file(&home)), (Some(78), before.clone()));
    assert!(refused.stderr.contains("config.draft.yaml"), "{}", refused.stderr);
    let report = edited(&home, "sed -i s/deep/2/ \"$1\"");
    assert!(report.stderr.contains("draft of an earlier edit"), "{}", report.stderr);
    assert_eq!(file(&home), format!("{before}maxDepth: 2\n"), "what was typed is not lost");
    assert!(!draft.exists());
}

#[test]
fn an_edit_loses_nothing_of_others() {
    let home = configured();
    let bin = uwf_testing::uwf_program();
    let ran = edited(&home, &format!("{bin} config set maxSteps 9 >&2; echo 'maxDepth: 2' >> \"$1\""));
    assert_eq!(ran.code, Some(75), "{}", ran.stderr);
    assert_eq!(home.json(&["config", "get", "maxSteps"]), json!(9));
    assert_eq!(home.uwf(&["config", "get", "maxDepth"]).code, Some(69));
    assert!(home.root().join("config.draft.yaml").exists());

    let failed = edited(&home, "exit 1");
    assert_eq!(failed.code, Some(78));
    assert!(failed.stderr.contains("set VISUAL or EDITOR"), "{}", failed.stderr);
    fs::remove_file(home.root().join("config.draft.yaml")).unwrap();
    let key = edited(&home, "echo 'providers: {p: {baseUrl: u, apiKey: sk-very-secret-0123456789}}' > \"$1\"");
    assert_eq!(key.code, Some(78));
    assert!(!(key.stdout + &key.stderr).contains("very-secret"));
}
