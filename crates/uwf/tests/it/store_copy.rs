//! `uwf store copy`: threads and names from one store to another.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::TestHome;

use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::home;

/// Copies from the storage root of one to that of the other.
fn copy(from: &TestHome, to: &TestHome, threads: &[&str]) -> (Value, Option<i32>) {
    let to = to.root();
    let to = to.to_str().unwrap();
    let done = from.uwf(&[&["--format", "json", "store", "copy", ".", to], threads].concat());
    (serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.stderr)), done.code)
}

fn outcomes(report: &Value) -> Vec<&str> {
    report["threads"].as_array().unwrap().iter().map(|thread| thread["outcome"].as_str().unwrap()).collect()
}

#[test]
fn thread_continues_in_other_store_and_returns() {
    let here = reviewing_home();
    let (going, ended) = (here.start("review-text", "Write"), here.start("review-text", "Write more"));
    step(&here, &going, 2);
    here.json(&["thread", "kill", &ended]);
    let there = reviewing_home();
    let (report, code) = copy(&here, &there, &[]);
    assert_eq!((outcomes(&report), code), (vec!["copied", "copied"], Some(0)));
    assert_eq!(report["names"], json!([{ "name": "review-text", "outcome": "present" }]));
    assert_eq!(hashes(&there, &going), hashes(&here, &going));
    assert_eq!(there.json(&["thread", "show", &ended])["state"], "killed");
    assert_eq!(there.json(&["cas", "verify"])["problems"], json!([]));

    let (again, code) = copy(&here, &there, &[]);
    assert_eq!((outcomes(&again), code), (vec!["present", "present"], Some(0)));
    assert_eq!(again["newNodes"], 0);

    let unknown = there.uwf(&["thread", "step", &going]);
    assert!(unknown.stderr.contains("this machine does not know where thread"), "{}", unknown.stderr);
    there.json(&["thread", "step", &going, "--cwd", there.work().to_str().unwrap()]);
    let (back, code) = copy(&there, &here, &[&going]);
    assert_eq!((outcomes(&back), code), (vec!["advanced"], Some(0)));
    assert_eq!(hashes(&here, &going), hashes(&there, &going));
    assert_eq!(back["names"], json!([]), "names go along with everything only");
}

#[test]
fn diverged_threads_stay_and_are_reported() {
    let here = reviewing_home();
    let thread = here.start("review-text", "Write");
    let there = reviewing_home();
    there.script("lone", "#!/bin/sh\ncat > /dev/null\necho '{\"title\": \"Lone\"}'\n");
    there.transcript(&["config", "set", "agents.lone", "{command: lone, output: json}"]);
    copy(&here, &there, &[&thread]);
    step(&here, &thread, 1);
    there.json(&["thread", "step", &thread, "--agent", "lone", "--cwd", there.work().to_str().unwrap()]);
    let before = hashes(&there, &thread);
    let (report, code) = copy(&here, &there, &[&thread]);
    assert_eq!((outcomes(&report), code), (vec!["differs"], Some(65)));
    assert_eq!(report["threads"][0]["there"], *before.last().unwrap());
    assert_eq!(hashes(&there, &thread), before);
}

#[test]
fn damaged_node_prevents_copy_of_its_thread() {
    let here = reviewing_home();
    let thread = here.start("review-text", "Write");
    step(&here, &thread, 1);
    let head = hashes(&here, &thread).pop().unwrap();
    fs::write(here.root().join("cas").join(format!("{head}.bin")), "damaged").unwrap();
    let there = home();
    let done = here.uwf(&["store", "copy", ".", there.root().to_str().unwrap(), &thread]);
    assert_eq!(done.code, Some(65), "{}", done.stderr);
    assert!(done.stderr.contains(&format!("node {head} is corrupt")), "{}", done.stderr);
    assert_eq!(there.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn other_directories_are_rejected_as_stores() {
    let home = reviewing_home();
    let refused = |from: &str, to: &str| {
        let done = home.uwf(&["store", "copy", from, to]);
        (done.code, done.stderr)
    };
    let (code, told) = refused(".", "/nowhere/at/all");
    assert!(code == Some(69) && told.contains("/nowhere/at/all is not a storage root"), "{told}");
    let (code, told) = refused(".", home.root().to_str().unwrap());
    assert!(code == Some(64) && told.contains("both are the same store"), "{told}");
    let (code, told) = refused(".", "ftp://host/path");
    assert!(code == Some(64) && told.contains("a store is s3://"), "{told}");
    let (code, told) = refused(".", "postgres://ann:secret@host/uwf");
    assert!(code == Some(64) && told.contains("PGPASSFILE") && !told.contains("secret"), "{told}");
}
