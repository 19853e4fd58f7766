//! Labels of threads: given at the start, shown, filters of commands, and rows of costs.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::mcp_client::Client;
use crate::fixtures::review::step;
use crate::home;
use crate::several_threads::states;
use crate::thread_cost::{PRICES, spending_home};

/// A home with three threads: `team=blue ticket=7`, `team=red`, and one without labels.
fn labelled_threads() -> (TestHome, [String; 3]) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(1));
    let start = |labels: &[&str]| start(&home, labels);
    let threads =
        [start(&["--label", "team=blue", "--label", "ticket=7"]), start(&["--label", "team=red"]), start(&[])];
    (home, threads)
}

fn start(home: &TestHome, labels: &[&str]) -> String {
    let begin = ["thread", "start", "count-rounds", "-p", "Count.\nThen stop."];
    text(&home.json(&[&begin, labels].concat()), "thread")
}

/// The threads that a filter selects, oldest first.
fn listed(home: &TestHome, filter: &[&str]) -> Vec<String> {
    let rows = home.json(&[&["thread", "list", "--all"], filter].concat());
    rows.as_array().unwrap().iter().rev().map(|row| text(row, "thread")).collect()
}

fn labels(home: &TestHome, thread: &str) -> Value {
    home.json(&["thread", "show", thread])["labels"].take()
}

#[test]
fn labels_are_listed_with_the_task() {
    let (home, threads) = labelled_threads();
    let rows = home.json(&["thread", "list"]);
    let seen: Vec<Value> = (0..3).rev().map(|at| json!([rows[at]["labels"], rows[at]["task"]])).collect();
    let task = "Count. Then stop.";
    let blue = json!({ "team": "blue", "ticket": "7" });
    assert_eq!(seen, [json!([blue, task]), json!([{ "team": "red" }, task]), json!([null, task])]);
    assert_eq!(labels(&home, &threads[0]), blue);
    let shown = home.uwf(&["thread", "show", &threads[0], "--format", "text"]).stdout;
    assert!(shown.contains("labels:    team=blue, ticket=7\n"), "{shown}");
    home.json(&["run", &threads[0]]);
    assert_eq!(listed(&home, &["--label", "ticket"]), threads[..1], "a finished thread keeps its labels");
}

#[test]
fn long_tasks_are_cut_in_lists() {
    let (home, _) = labelled_threads();
    home.json(&["thread", "start", "count-rounds", "-p", &"word ".repeat(100)]);
    let task = text(&home.json(&["thread", "list"])[0], "task");
    assert!(task.ends_with('…') && task.chars().count() == 81, "{task}");
}

#[test]
fn filter_takes_a_key_or_a_value() {
    let (home, threads) = labelled_threads();
    assert_eq!(listed(&home, &["--label", "team"]), threads[..2]);
    assert_eq!(listed(&home, &["--label", "team=red"]), threads[1..2]);
    assert_eq!(listed(&home, &["--label", "team", "--label", "ticket=7"]), threads[..1]);
    assert!(listed(&home, &["--label", "team=green"]).is_empty());
    assert!(listed(&home, &["--label", "Team"]).is_empty());
}

#[test]
fn commands_act_on_labelled_threads() {
    let (home, threads) = labelled_threads();
    home.json(&["thread", "pause", "--label", "team=red"]);
    assert_eq!(states(&home, &threads), ["active", "paused", "active"]);
    let refused = home.uwf(&["thread", "kill", "--label", "team"]);
    assert!(refused.code == Some(64) && refused.stderr.contains("select 2 threads"), "{refused:?}");
    home.json(&["run", "--label", "team=blue"]);
    assert_eq!(states(&home, &threads), ["completed", "paused", "active"]);
    home.json(&["thread", "kill", "--label", "team"]);
    assert_eq!(states(&home, &threads), ["completed", "killed", "active"]);
}

#[test]
fn run_labels_its_new_thread() {
    let (home, threads) = labelled_threads();
    let new = text(&home.json(&["run", "count-rounds", "-p", "count", "--label", "team=blue"]), "thread");
    assert_eq!(labels(&home, &new), json!({ "team": "blue" }));
    for (args, hint) in [
        (&["run", "count-rounds", "-p", "count", "--label", "team"][..], "`team` has no `=`"),
        (&["run", "-p", "count", "--label", "team=blue"][..], "a workflow is needed"),
        (&["run", &threads[0], "--label", "team=blue"][..], "this command names the thread"),
        (&["run", "--last", "--label", "team"][..], "this command names the thread"),
    ] {
        let ran = home.uwf(args);
        assert!(ran.code == Some(64) && ran.stderr.contains(hint), "{args:?}: {ran:?}");
    }
    assert_eq!(states(&home, &threads), ["active"; 3]);
}

#[test]
fn odd_labels_are_refused() {
    let (home, threads) = labelled_threads();
    let (long_key, long_value) = (format!("{}=x", "k".repeat(65)), format!("k={}", "v".repeat(257)));
    for (label, why) in [
        ("team", "no `=`"),
        ("=blue", "is empty"),
        ("team=", "the value of `team` is empty"),
        ("the team=blue", "no spaces"),
        ("te\u{1b}am=blue", "no control characters"),
        ("team=bl\nue", "no control characters"),
        (long_key.as_str(), "at most 64 characters"),
        (long_value.as_str(), "at most 256 characters"),
    ] {
        let ran = home.uwf(&["thread", "start", "count-rounds", "-p", "count", "--label", label]);
        assert!(ran.code == Some(64) && ran.stderr.contains(why), "{label:?}: {ran:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
    let twice = home.uwf(&["thread", "start", "count-rounds", "-p", "c", "--label", "a=1", "--label", "a=2"]);
    assert!(twice.code == Some(64) && twice.stderr.contains("label `a` has two values: `1` and `2`"), "{twice:?}");
    let filter = home.uwf(&["thread", "list", "--label", "a="]);
    assert_eq!(filter.code, Some(64), "{filter:?}");
    assert_eq!(listed(&home, &[]), threads, "nothing was started");
}

#[test]
fn fork_keeps_labels_and_changes_them() {
    let (home, threads) = labelled_threads();
    let fork = home.json(&["thread", "fork", &threads[0], "--label", "team=red", "--label", "round=2"]);
    let expected = json!({ "round": "2", "team": "red", "ticket": "7" });
    assert_eq!(labels(&home, &text(&fork, "thread")), expected);
    assert_eq!(labels(&home, &threads[0]), json!({ "team": "blue", "ticket": "7" }));
    home.json(&["thread", "limit", &threads[0], "--steps", "5"]);
    assert_eq!(labels(&home, &threads[0]), json!({ "team": "blue", "ticket": "7" }), "other settings keep them");
}

#[test]
fn labels_change_at_any_time() {
    let (home, [blue, red, none]) = labelled_threads();
    home.json(&["run", &blue]);
    let changed = home.json(&["thread", "label", &blue, "--set", "team=web", "--set", "round=2", "--remove", "ticket"]);
    assert_eq!(changed, json!({ "thread": blue, "labels": { "round": "2", "team": "web" } }));
    assert_eq!(labels(&home, &blue), json!({ "round": "2", "team": "web" }), "also after the end");
    assert_eq!(home.json(&["thread", "label", &none])["labels"], json!({}));
    let record = fs::read(home.record_file(&red)).unwrap();
    home.json(&["thread", "label", &red, "--set", "team=red", "--remove", "missing"]);
    assert_eq!(fs::read(home.record_file(&red)).unwrap(), record, "nothing is written if nothing changes");
    home.json(&["thread", "label", "--workflow", "count-rounds", "--set", "sprint=12", "--yes"]);
    assert_eq!(listed(&home, &["--label", "sprint=12"]), [blue.as_str(), &red, &none]);
    let said = home.uwf(&["thread", "label", &red, "--format", "text"]).stdout;
    assert_eq!(said, format!("thread {red}: sprint=12, team=red\n"));
    home.json(&["run", &red]);
    assert_eq!(labels(&home, &red), json!({ "sprint": "12", "team": "red" }), "steps keep them");
}

#[test]
fn wrong_changes_of_labels_are_refused() {
    let (home, [blue, ..]) = labelled_threads();
    fs::write(home.root().join(".env"), "TOKEN=very-secret-token\n").unwrap();
    home.config("agents:\n  w: { command: w, output: json, env: [TOKEN] }\n");
    for (change, why) in [
        (&["--set", "team"][..], "no `=`"),
        (&["--set", "a=1", "--set", "a=2"], "two values"),
        (&["--set", "a=1", "--remove", "a"], "--set and --remove both name the label `a`"),
        (&["--set", "a=very-secret-token"], "TOKEN"),
    ] {
        let ran = home.uwf(&[&["thread", "label", &blue], change].concat());
        assert!(ran.code == Some(64) && ran.stderr.contains(why), "{change:?}: {ran:?}");
    }
    assert_eq!(labels(&home, &blue), json!({ "team": "blue", "ticket": "7" }));
}

#[test]
fn labels_wait_for_running_step() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ntouch begun\nuntil [ -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    let mut stepping = home.command(&["thread", "step", &thread]).stdout(Stdio::null()).spawn().unwrap();
    until("the agent has begun", || home.work().join("begun").exists());
    let refused = home.uwf(&["thread", "label", &thread, "--set", "a=1"]);
    assert!(refused.code == Some(75) && refused.stderr.contains("being stepped"), "{refused:?}");
    fs::write(home.work().join("go"), "").unwrap();
    assert!(stepping.wait().unwrap().success());
    home.json(&["thread", "label", &thread, "--set", "a=1"]);
    assert_eq!(labels(&home, &thread), json!({ "a": "1" }));
}

#[test]
fn labels_are_changed_and_found_over_http() {
    let (home, [blue, red, _]) = labelled_threads();
    let server = TestServer::start(&home, &[]);
    let head = home.json(&["thread", "show", &blue])["head"].take();
    let fields = json!({ "expectedHead": head, "set": "team=web", "remove": "ticket" });
    let changed = server.post(&format!("/api/threads/{blue}/label"), &fields);
    assert_eq!((changed.status, changed.json()["labels"].take()), (200, json!({ "team": "web" })));
    let several = json!({ "expectedHead": head, "set": ["x=1", "y=2"] });
    let refused = server.post(&format!("/api/threads/{blue}/label"), &several);
    assert!(refused.status == 400 && refused.body.contains("`set` must be one text"), "{}", refused.body);
    let found = |label: &str| -> Vec<String> {
        let rows = server.get(&format!("/api/threads?label={label}")).json();
        rows.as_array().unwrap().iter().map(|row| text(row, "thread")).collect()
    };
    assert_eq!((found("team%3Dweb"), found("team")), (vec![blue.clone()], vec![red.clone(), blue.clone()]));
    assert_eq!(server.get("/api/threads?label=%3D").status, 400);
    let page = server.page(&format!("/threads/{blue}")).body;
    assert!(page.contains("<a href=\"/?all=1&amp;label=team%3Dweb\""), "{page}");
    assert!(page.contains("Remove team=web"), "{page}");
    let list = server.page("/?all=1&label=team%3Dweb").body;
    assert!(list.contains(&blue) && !list.contains(&red), "{list}");
}

#[test]
fn fork_over_http_takes_labels() {
    let (home, threads) = labelled_threads();
    let server = TestServer::start(&home, &[]);
    let head = home.json(&["thread", "show", &threads[0]])["head"].take();
    let fields = json!({ "expectedHead": head, "label.team": "red", "label": "round=2" });
    let forked = server.post(&format!("/api/threads/{}/fork", threads[0]), &fields).json();
    assert_eq!(labels(&home, &text(&forked, "thread")), json!({ "round": "2", "team": "red", "ticket": "7" }));
}

#[test]
fn mcp_start_takes_labels() {
    let (home, _) = labelled_threads();
    let mut client = Client::start(&home, &["mcp"]);
    let start = |labels: Value| json!({ "workflow": "count-rounds", "prompt": "x", "labels": labels });
    let started = client.report("start", start(json!({ "team": "blue", "ticket": 7 })));
    assert_eq!(labels(&home, &text(&started, "thread")), json!({ "team": "blue", "ticket": "7" }));
    let (said, is_error) = client.call("start", start(json!("team=blue")));
    assert!(is_error && said.contains("`labels` must be an object"), "{said}");
}

#[test]
fn costs_are_grouped_by_label() {
    let home = spending_home(PRICES);
    for labels in [&["--label", "team=blue", "--label", "ticket=7"][..], &["--label", "team=blue"], &[]] {
        let thread = start(&home, labels);
        step(&home, &thread, 1);
    }
    let report = home.json(&["thread", "cost", "--by", "label"]);
    let steps: Vec<Value> =
        report["rows"].as_array().unwrap().iter().map(|row| json!([row["name"], row["steps"]])).collect();
    assert_eq!(steps, [json!(["team=blue", 2]), json!([null, 1]), json!(["ticket=7", 1])], "{report}");
    assert_eq!(json!([report["by"], report["total"]["steps"]]), json!(["label", 3]));
    let csv = home.uwf(&["thread", "cost", "--by", "label", "--format", "csv"]).stdout;
    assert!(csv.starts_with("label,steps,") && csv.contains("\nteam=blue,2,"), "{csv}");
}
