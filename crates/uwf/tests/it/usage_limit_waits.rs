//! Runs while threads are at usage limits: threads that are left out, and the end of a wait.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::answering::with_worker;
use crate::home;

const LIMITED: &str = "#!/bin/sh\ncat > /dev/null\necho 'usage limit, try again in 3 hours' >&2\nexit 1\n";

/// A run that waits, after it has said so.
fn waiting_run(home: &TestHome, args: &[&str], sign: &str) -> Child {
    let mut run = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(sign)), "it never said `{sign}`");
    // Reads the rest, so that the process is never blocked.
    std::thread::spawn(move || lines.for_each(drop));
    run
}

fn finished(run: Child) -> FinishedRun {
    FinishedRun::from(run.wait_with_output().unwrap())
}

/// The report of a command that did not succeed.
fn report(ran: &FinishedRun) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.transcript()))
}

#[test]
fn run_all_reports_threads_at_limit() {
    let (home, first) = with_worker(1, "output: json", LIMITED);
    let second = home.start("count-rounds", "count too");
    for thread in [&first, &second] {
        assert_eq!(home.uwf(&["thread", "step", thread]).code, Some(30));
    }
    let until = home.json(&["thread", "show", &first])["until"].clone();
    let ran = home.uwf(&["run", "--all"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("left out 2 threads at a usage limit, until "), "{}", ran.stderr);
    for thread in [&first, &second] {
        let line = format!("  {thread} is limited: agent `w` is at its usage limit until ");
        assert!(ran.stderr.contains(&line), "{line}: {}", ran.stderr);
    }
    let rows = report(&ran);
    let shown = |at: usize| json!([rows[at]["thread"], rows[at]["exitCode"], rows[at]["error"]["until"]]);
    assert_eq!((shown(0), shown(1)), (json!([first, 30, until]), json!([second, 30, until])));
    // A filter for the state asks for no wait.
    for states in ["limited", "limited,active"] {
        let ran = home.uwf(&["run", "--state", states, "--yes"]);
        assert_eq!(ran.code, Some(30), "{states}: {}", ran.transcript());
        assert_eq!(report(&ran)[0]["error"]["until"], until, "{states}: {}", ran.transcript());
    }
    let text = home.uwf(&["run", "--all", "--format", "text"]);
    assert_eq!(text.code, Some(30), "{}", text.transcript());
    assert!(text.stdout.contains("is at its usage limit until"), "{}", text.stdout);
}

#[test]
fn run_all_exits_with_limit_although_others_ran() {
    let (home, limited) = with_worker(1, "output: json", LIMITED);
    assert_eq!(home.uwf(&["thread", "step", &limited]).code, Some(30));
    home.script("other", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let other = ["thread", "start", "count-rounds", "-p", "count", "--agent", "other", "--output", "json"];
    let other = text(&home.json(&other), "thread");
    let ran = home.uwf(&["run", "--all"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let codes: Vec<Value> =
        report(&ran).as_array().unwrap().iter().map(|one| json!([one["thread"], one["exitCode"]])).collect();
    assert_eq!(codes, [json!([limited, 30]), json!([other, 0])]);
}

#[test]
fn ended_wait_of_all_reports_waiting_threads() {
    let (home, first) = with_worker(1, "output: json", LIMITED);
    assert_eq!(home.uwf(&["thread", "step", &first]).code, Some(30));
    let second = home.start("count-rounds", "count too");
    let run = waiting_run(&home, &["run", "--all", "--wait"], "for the end of a usage limit");
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    let ran = finished(run);
    assert_eq!(ran.code, Some(143), "{}", ran.transcript());
    let rows = report(&ran);
    let shown = |at: usize| json!([rows[at]["thread"], rows[at]["exitCode"], rows[at]["error"]["kind"]]);
    assert_eq!((shown(0), shown(1)), (json!([first, 30, "limit"]), json!([second, 30, "limit"])));
}

#[test]
fn killed_thread_ends_wait_for_limit() {
    for (args, sign) in [(&["run", "@", "--wait"][..], "waiting "), (&["run", "--all", "--wait"], " waits ")] {
        let home = home();
        home.worker("output: json", LIMITED);
        home.put("count-rounds", &counting_workflow(1));
        let thread = home.start("count-rounds", "count");
        let run = waiting_run(&home, args, sign);
        home.json(&["thread", "kill", &thread]);
        let killed = Instant::now();
        let ran = finished(run);
        assert_eq!(ran.code, Some(11), "{args:?}: {}", ran.transcript());
        assert!(killed.elapsed() < Duration::from_mins(5), "{args:?}: it did not wait for the end of the limit");
        let report = report(&ran);
        let report = report.get(0).unwrap_or(&report);
        assert_eq!((&report["done"], &report["outcome"]), (&json!(true), &json!("killed")), "{args:?}: {report}");
    }
}
