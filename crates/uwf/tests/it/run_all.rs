//! `run --all`: every active thread, several at once; and `run --until`.

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

/// A home whose agent fails in threads that are named in the file `bad`, and says when it is at work.
fn counting(threads: usize, rounds: usize) -> (TestHome, Vec<String>) {
    let home = home();
    home.worker(
        "output: json",
        "#!/bin/sh\ngrep -q \"$UWF_THREAD\" bad && exit 3\ntouch \"at-$UWF_THREAD\"\n[ -e wait ] && sleep 60\n[ -e slow ] && sleep 0.5\necho '{\"n\": 1}'\n",
    );
    home.file("bad", "");
    home.put("count-rounds", &counting_workflow(rounds));
    let threads = (0..threads).map(|_| home.start("count-rounds", "count")).collect();
    (home, threads)
}

fn codes(ran: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(ran).unwrap();
    report.as_array().unwrap().iter().map(|one| json!([one["thread"], one["exitCode"], one["done"]])).collect()
}

#[test]
fn every_active_thread_runs_despite_failures_of_others() {
    let (home, threads) = counting(4, 2);
    home.json(&["thread", "pause", &threads[1]]);
    home.file("bad", &threads[2]);
    let ran = home.uwf(&["run", "--all", "--jobs", "2"]);
    assert_eq!(ran.code, Some(40), "{ran:?}");
    let expected = [json!([threads[0], 0, true]), json!([threads[2], 40, false]), json!([threads[3], 0, true])];
    assert_eq!(codes(&ran.stdout), expected);
    assert!(ran.stderr.contains(&format!("{} ✓ worker by w", threads[0])), "{ran:?}");
    assert!(ran.stderr.contains(&format!("{} error: ", threads[2])), "{ran:?}");
    home.file("bad", "");
    assert_snapshot!(home.transcript(&["run", "--all", "--format", "text"]), @"
    exit 0
    no thread to run
    ");
    let ran = home.uwf(&["run", "--all", "--stuck"]);
    assert_eq!((ran.code, codes(&ran.stdout)), (Some(0), vec![json!([threads[2], 0, true])]));
    home.json(&["thread", "resume", &threads[1]]);
    let ran = home.uwf(&["run", "--all", "--steps", "1"]);
    assert_eq!((ran.code, codes(&ran.stdout)), (Some(30), vec![json!([threads[1], 30, false])]));
    let text = home.uwf(&["run", "--all", "--format", "text"]);
    assert!(text.stdout.contains(&threads[1]) && text.stdout.contains("done"), "{text:?}");
}

#[test]
fn table_has_outcomes_with_their_conditions() {
    let home = home();
    home.put(
        "ends",
        "name: ends
description: x
roles:
  look: { run: 'exit 1' }
conditions:
  broken: { expression: \"$last('look').passed = false\" }
graph:
  $START: [ { role: look } ]
  look: [ { role: $END, outcome: failed, condition: broken }, { role: $END } ]
",
    );
    home.start("ends", "x");
    let ran = home.uwf(&["run", "--all", "--format", "text"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    assert!(ran.stdout.contains("failed (broken)"), "{}", ran.stdout);
}

#[test]
fn several_are_at_work_at_once() {
    let (home, threads) = counting(3, 1);
    home.file("wait", "");
    let mut all = home.command(&["run", "--all", "-j", "2"]).spawn().unwrap();
    let at_work = || threads.iter().filter(|thread| home.work().join(format!("at-{thread}")).exists()).count();
    until("two agents are at work", || at_work() == 2);
    let begun = Instant::now();
    rustix::process::kill_process(rustix::process::Pid::from_child(&all), rustix::process::Signal::INT).unwrap();
    assert_eq!(all.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(20), "agents are ended with it");
    assert_eq!(at_work(), 2, "the third never began");
    let states: Vec<Value> =
        threads.iter().map(|thread| home.json(&["thread", "show", thread])["state"].clone()).collect();
    assert_eq!(states, ["active", "active", "active"]);
    fs::remove_file(home.work().join("wait")).unwrap();
    assert_eq!(home.uwf(&["run", "--all", "--jobs", "3"]).code, Some(0));
}

#[test]
fn a_thread_stops_before_a_role() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.put(
        "two-roles",
        "name: two-roles\ndescription: two\nroles:\n  first:\n    goal: Go.\n    meta: { type: object, properties: { n: { type: integer } }, required: [n] }\n  \
         second:\n    goal: Go on.\n    meta: { type: object, properties: { n: { type: integer } }, required: [n] }\n\
         graph:\n  $START: [ { role: first } ]\n  first: [ { role: second } ]\n  second: [ { role: $END } ]\n",
    );
    let thread = home.start("two-roles", "go");
    let stopped = home.json(&["run", &thread, "--until", "second"]);
    assert_eq!((&stopped["done"], &stopped["next"]), (&json!(false), &json!({ "role": "second" })));
    assert_eq!(home.json(&["thread", "show", &thread])["role"], "first");
    assert_eq!(home.json(&["run", "--all", "--until", "second"])[0]["next"], json!({ "role": "second" }));
    assert_snapshot!(home.transcript(&["run", &thread, "--until", "third"]), @"
    exit 64
    --- stderr
    error: workflow `two-roles` has no role `third`
    hint: its roles: first, second
    ");
    let told = home.uwf(&["run", "two-roles", "-p", "go", "--until", "secnd"]);
    assert_eq!(told.code, Some(64), "{told:?}");
    assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 1, "no thread was started for a typing error");
    assert_eq!(home.json(&["run", &thread, "--until", "first"])["done"], true, "it never is next");
    assert_eq!(home.json(&["run", "--all"]), json!([]));
}

#[test]
fn until_role_must_exist_in_some_thread() {
    let (home, threads) = counting(1, 1);
    home.put("later", &counting_workflow(1).replace("count-rounds", "later").replace("worker", "closer"));
    let later = home.start("later", "close");
    assert_snapshot!(home.transcript(&["run", "--all", "--until", "clsoer"]), @"
    exit 64
    --- stderr
    error: no thread to run has a role `clsoer`
    hint: their roles: closer, worker
    ");
    let ran = home.json(&["run", "--all", "--until", "closer"]);
    assert_eq!(json!([ran[0]["thread"], ran[0]["done"]]), json!([threads[0], true]));
    assert_eq!(json!([ran[1]["thread"], ran[1]["done"], ran[1]["next"]["role"]]), json!([later, false, "closer"]));
}

#[test]
fn conflicting_options_are_rejected() {
    let (home, threads) = counting(1, 1);
    for args in [
        &["run", "--all", &threads[0]][..],
        &["run", "--all", "--last"],
        &["run", "--all", "-p", "task"],
        &["run", "--jobs", "2", &threads[0]],
        &["run", "--all", "--jobs", "0"],
    ] {
        assert_eq!(home.uwf(args).code, Some(64), "{args:?}");
    }
}
