//! `--id`: whoever begins a thread chooses its id, and begins one thread however often the command is sent. More is in
//! `start.rs` and `fork.rs` of `crates/uwf-engine/tests/it`.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::repository::{git, home_with_repository, uwf_in};
use crate::home;

const ID: &str = "01M84K4HXK7T9NNASSVRDMQ22G";
const OTHER: &str = "01M84K4HXK6RPPA24KREJ5JEHH";

fn counting() -> TestHome {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.start_counting(3, "another thread");
    home
}

/// Starts a thread with a chosen id.
fn start(home: &TestHome, id: &str, prompt: &str) -> FinishedRun {
    home.uwf(&["thread", "start", "count-rounds", "-p", prompt, "--id", id])
}

fn threads(home: &TestHome) -> usize {
    home.json(&["thread", "list", "--all"]).as_array().unwrap().len()
}

/// Takes a thread out of the index.
fn lose(home: &TestHome, thread: &str) {
    let index = home.root().join("threads.yaml");
    let text = fs::read_to_string(&index).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains(thread)).collect();
    fs::write(&index, kept.join("\n") + "\n").unwrap();
}

#[test]
fn repeated_start_reports_first_thread() {
    let home = counting();
    let first = start(&home, ID, "count").json();
    assert_eq!(first["thread"], json!(ID));
    assert_eq!((start(&home, &ID.to_lowercase(), "count").json(), threads(&home)), (first, 2));
    let other = start(&home, ID, "count to ten");
    let began_at = text(&home.json(&["thread", "steps", ID])["steps"][0], "hash");
    assert_snapshot!(other.transcript().replace(ID, "<id>").replace(&began_at, "<start>"), @r"
    exit 64
    --- stderr
    error: thread id <id> is taken: the thread with this id has a different start, <start>
    hint: choose another id; `uwf thread show <id>` shows that thread
    ");
}

#[test]
fn concurrent_starts_create_one_thread_and_worktree() {
    let home = home_with_repository(2);
    let repo = home.work().join("repo");
    let args = ["thread", "start", "count-rounds", "-p", "x", "--worktree", "--id", ID, "--format", "json"];
    let sent: Vec<_> = (0..6)
        .map(|_| {
            let mut start = home.command(&args);
            start.current_dir(&repo).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let reports: Vec<Value> =
        sent.into_iter().map(|start| FinishedRun::from(start.wait_with_output().unwrap()).json()).collect();
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
    assert_eq!(threads(&home), 1);
    assert_eq!(git(&home, &repo, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2);
    let record = fs::read_to_string(home.record_file(ID)).unwrap();
    assert_eq!(record.matches("\"event\":\"settings\"").count(), 1, "{record}");
    home.json(&["run", ID]);
    assert!(home.root().join("worktrees").join(ID).join("step-2.txt").exists());
}

#[test]
fn repeated_start_completes_killed_start() {
    let home = home_with_repository(2);
    let repo = home.work().join("repo");
    let args = ["thread", "start", "count-rounds", "-p", "x", "--worktree", "--id", ID];
    home.start("count-rounds", "another thread");
    let first = uwf_in(&home, &repo, &args).json();
    // As a command leaves it that was killed before the head was set.
    let record = home.record_file(ID);
    let whole = fs::read_to_string(&record).unwrap();
    let settings = whole.lines().find(|line| line.contains("settings")).unwrap();
    fs::write(&record, format!("\n{settings}\n")).unwrap();
    lose(&home, ID);
    assert_eq!(home.uwf(&["thread", "show", ID]).code, Some(69));
    assert_eq!(uwf_in(&home, &repo, &args).json(), first);
    assert_eq!(home.json(&["run", ID])["done"], json!(true));
}

#[test]
fn run_with_id_continues_its_thread() {
    let home = counting();
    let run = |more: &[&str]| home.uwf(&[&["run", "count-rounds", "-p", "count", "--id", ID], more].concat());
    assert_eq!(run(&["--steps", "1"]).code, Some(30));
    assert_eq!(run(&["--steps", "1"]).code, Some(30));
    assert_eq!(home.json(&["thread", "show", ID])["steps"], 2);
    for _ in 0..2 {
        let done = run(&[]).json();
        assert_eq!((&done["thread"], &done["done"]), (&json!(ID), &json!(true)));
    }
    assert_eq!((home.json(&["thread", "show", ID])["steps"].as_u64(), threads(&home)), (Some(3), 2));
    assert_eq!(home.uwf(&["run", OTHER, "--id", OTHER]).code, Some(64), "a thread that has one");
}

#[test]
fn repeated_fork_reports_first_fork() {
    let home = counting();
    start(&home, ID, "count");
    let step = text(&home.json(&["thread", "step", ID]), "head");
    for from in [ID, &step] {
        let fork = home.json(&["thread", "fork", from, "--id", OTHER]);
        assert_eq!((fork, threads(&home)), (json!({ "thread": OTHER, "forkedFrom": { "step": step } }), 3));
    }
    assert_eq!(home.uwf(&["thread", "fork", ID, "--id", OTHER, "-p", "something else"]).code, Some(64));
}

#[test]
fn an_id_is_a_ulid() {
    let home = counting();
    for wrong in ["7Q2M", "81M84K4HXK7T9NNASSVRDMQ22G", "01M84K4HXK7T9NNASSVRDMQ2UU", ""] {
        assert_eq!(start(&home, wrong, "count").code, Some(64), "{wrong}");
    }
    assert_eq!(threads(&home), 1);
}

/// An id without a time: the record of the thread has one.
#[test]
fn thread_with_timeless_id_started_with_its_record() {
    let home = counting();
    let id = "7ZZZZZZZZZZZZZZZZZZZZZZZZY";
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert_eq!(start(&home, id, "x").code, Some(0));
    let recent = |value: &Value| value.as_u64().is_some_and(|time| time + 1000 >= before);
    let shown = home.json(&["thread", "show", id]);
    assert!(recent(&shown["startedAt"]) && recent(&shown["changedAt"]), "{shown}");
    let list = home.json(&["thread", "list"]);
    let row = list.as_array().unwrap().iter().find(|row| row["thread"] == id).unwrap();
    assert!(recent(&row["startedAt"]) && recent(&row["changedAt"]), "{row}");
    home.json(&["thread", "kill", id]);
    let list = home.json(&["thread", "list", "--all"]);
    let row = list.as_array().unwrap().iter().find(|row| row["thread"] == id).unwrap();
    assert!(recent(&row["startedAt"]), "{row}");
}
