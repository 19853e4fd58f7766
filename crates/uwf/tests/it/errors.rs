//! A failing command in a pipe prints an object that says why.

use serde_json::json;

use crate::home;

#[test]
fn failure_prints_stdout_json_and_stderr_text() {
    let home = home();
    let ran = home.uwf(&["workflow", "show", "nowhere", "--format", "json"]);
    assert_eq!(ran.code, Some(69));
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        object,
        json!({"error": {
            "kind": "not-found",
            "message": "workflow `nowhere` does not exist",
            "hints": ["`uwf workflow list` shows the workflows; you can also give the path of a YAML file"],
            "exitCode": 69,
        }})
    );
    assert_eq!(
        ran.stderr,
        "error: workflow `nowhere` does not exist\n\
         hint: `uwf workflow list` shows the workflows; you can also give the path of a YAML file\n"
    );
}

#[test]
fn failure_is_yaml_if_requested() {
    let home = home();
    for args in [&["workflow", "show", "nowhere"][..], &["thread", "show", "7Q2M"], &["thread", "step"]] {
        let ran = home.uwf(&[args, &["--format", "yaml"]].concat());
        assert!(ran.stdout.starts_with("error:\n  kind: "), "{ran:?}");
        assert!(ran.stdout.contains(&format!("\n  exitCode: {}\n", ran.code.unwrap())), "{ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    }
}

#[test]
fn text_and_documents_are_not_mixed_with_objects() {
    let home = home();
    for args in [
        &["workflow", "show", "nowhere", "--format", "text"][..],
        &["thread", "read", "7Q2M"],
        &["thread", "step-details", "7Q2M"],
        &["workflow", "graph", "nowhere"],
        &["agent", "run", "mock", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "worker"],
        &["agent", "run", "mock", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "worker", "--format", "json"],
    ] {
        let ran = home.uwf(args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {}", ran.stderr);
    }
    let asked = home.uwf(&["thread", "read", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--format", "json"]);
    assert_eq!(asked.error().unwrap().1["error"]["kind"], "not-found");
    let mut command = home.command(&["thread", "read", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    let asked = uwf_testing::FinishedRun::from(command.env("UWF_FORMAT", "json").output().unwrap());
    assert_eq!(asked.error().unwrap().1["error"]["exitCode"], 69);
}

#[test]
fn error_object_includes_thread_state() {
    let home = home();
    home.worker("output: text", "#!/bin/sh\nexit 3\n");
    let thread = home.start_counting(3, "count");
    for command in [&["thread", "step"][..], &["run"], &["thread", "run"]] {
        let ran = home.uwf(&[command, &[thread.as_str()]].concat());
        assert_eq!(ran.code, Some(40), "{command:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "one object: {}", ran.stdout);
        let (_, object) = ran.error().unwrap();
        assert_eq!(
            json!([object["error"]["kind"], object["thread"], object["head"], object["done"]]),
            json!(["agent-failed", thread, home.head(&thread), false])
        );
    }
    home.json(&["thread", "kill", &thread]);
    let ran = home.uwf(&["thread", "step", &thread]);
    let (_, object) = ran.error().unwrap();
    assert_eq!(json!([object["error"]["kind"], object["state"]]), json!(["not-found", "killed"]));
}

#[test]
fn a_misuse_is_an_object_too() {
    let home = home();
    let ran = home.uwf(&["cas", "get", "--fast"]);
    assert_eq!(ran.code, Some(64));
    let (_, object) = ran.error().unwrap();
    assert_eq!(
        object,
        json!({"error": {
            "kind": "usage",
            "message": "unexpected argument '--fast' found",
            "hints": ["`uwf cas get --help` lists its options"],
            "exitCode": 64,
        }})
    );
    assert_eq!(home.uwf(&["cas", "get", "--fast", "--format", "text"]).stdout, "");
    assert_eq!(home.uwf(&["cas", "get", "--fast", "--format=text"]).stdout, "");
}
