//! Groups whose processes are killed: branches at work continue, and no result is paid for twice.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;
use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::child_threads::{child_of, recorded};
use crate::fixtures::group_runs::runs;
use crate::home;

/// Three branches at once: one ends at once, the others when the file `go` is there.
const PANEL: &str = "name: panel
description: three at once
roles:
  fast: { goal: x }
  slow: { goal: x }
  late: { goal: x }
  all: { play: [ fast, slow, late ] }
  last: { goal: x }
graph:
  $START: [ { role: all } ]
  all: [ { role: last } ]
  last: [ { role: $END } ]
";

const AGENT: &str = "#!/bin/sh
cat > /dev/null
echo $UWF_ROLE >> runs
echo $$ > pid-$UWF_ROLE
case $UWF_ROLE in slow|late) while [ ! -e go ]; do sleep 0.02; done;; esac
echo \"I am $UWF_ROLE.\"
";

fn panel() -> (TestHome, String) {
    let home = home();
    home.put("panel", PANEL);
    home.script("worker", AGENT);
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    let thread = home.start("panel", "x");
    (home, thread)
}

/// Starts a step in the background and waits until one branch has ended and two are at work.
fn step_until_at_work(home: &TestHome, thread: &str) -> Child {
    let window = home.command(&["thread", "step", thread]).stderr(Stdio::piped()).spawn().unwrap();
    until("all branches have begun", || ["fast", "slow", "late"].iter().all(|role| pid_file(home, role).is_some()));
    until("the first branch has ended", || {
        let threads = home.json(&["thread", "list", "--all"]);
        threads.as_array().unwrap().iter().any(|row| row["branch"] == "all.fast" && row["state"] == "completed")
    });
    window
}

fn pid_file(home: &TestHome, role: &str) -> Option<u32> {
    fs::read_to_string(home.work().join(format!("pid-{role}"))).ok()?.trim().parse().ok()
}

/// The process of a branch's agent.
fn agent_of(home: &TestHome, role: &str) -> u32 {
    pid_file(home, role).unwrap()
}

const ALL_ONCE: [&str; 3] = ["fast", "late", "slow"];

#[test]
fn branches_at_work_outlive_the_group() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    signal(&recorded(&home, &thread, "started")["pid"], "KILL");
    let killed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(killed.code, Some(40), "{}", killed.stderr);
    let hint = format!("`uwf thread retry {thread}` waits for them");
    assert!(killed.stderr.contains(&hint), "{}", killed.stderr);
    assert!(is_alive(agent_of(&home, "slow")) && is_alive(agent_of(&home, "late")), "they are paid for");
    let mut again = home.command(&["thread", "retry", &thread]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_alive(agent_of(&home, "slow")) && is_alive(agent_of(&home, "late")), "and waited for");
    home.file("go", "");
    assert_eq!(again.wait().unwrap().code(), Some(0));
    assert_eq!(runs(&home), ALL_ONCE);
    let output = home.json(&["thread", "eval", &thread, "$last('all')"]);
    assert_eq!(output, json!({"fast": "I am fast.", "slow": "I am slow.", "late": "I am late."}));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn results_are_found_after_all_watchers_died() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    let (keeper, agent) =
        (recorded(&home, &thread, "opened")["keeper"].clone(), recorded(&home, &thread, "started")["pid"].clone());
    signal(window.id(), "KILL");
    signal(keeper, "KILL");
    signal(agent, "KILL");
    window.wait().unwrap();
    home.file("go", "");
    for role in ["slow", "late"] {
        until("the branch has ended", || !is_alive(agent_of(&home, role)));
    }
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fast", "last", "late", "slow"]);
}

#[test]
fn stop_signals_end_branches_and_keep_results() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let (home, thread) = panel();
        let mut window = step_until_at_work(&home, &thread);
        signal(window.id(), name);
        assert_eq!(window.wait().unwrap().code(), Some(code), "{name}");
        for role in ["slow", "late"] {
            assert!(!is_alive(agent_of(&home, role)), "{name}: {role} is still at work");
        }
        assert_eq!(home.json(&["thread", "show", &thread])["state"], "active", "{name}: it is ready for its next step");
        home.file("go", "");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        assert_eq!(runs(&home), ["fast", "late", "late", "slow", "slow"], "only those that were stopped ran again");
    }
}

#[test]
fn ctrl_c_stops_branches_of_a_killed_group() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    signal(&recorded(&home, &thread, "started")["pid"], "KILL");
    assert_eq!(window.wait().unwrap().code(), Some(40));
    let mut again = home.command(&["thread", "retry", &thread]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    signal(again.id(), "INT");
    assert_eq!(again.wait().unwrap().code(), Some(130));
    for role in ["slow", "late"] {
        until("the branch has stopped", || !is_alive(agent_of(&home, role)));
    }
    home.file("go", "");
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fast", "last", "late", "late", "slow", "slow"]);
}

#[test]
fn killed_agent_of_branch_fails_alone() {
    let (home, thread) = panel();
    let window = home.command(&["thread", "step", &thread]).stderr(Stdio::piped()).spawn().unwrap();
    until("the branches have begun", || pid_file(&home, "slow").is_some() && pid_file(&home, "late").is_some());
    signal(agent_of(&home, "slow"), "KILL");
    until("its agent is gone", || !is_alive(agent_of(&home, "slow")));
    home.file("go", "");
    let failed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(failed.code, Some(40), "{}", failed.stderr);
    assert!(failed.stderr.contains("branch `slow`") && !failed.stderr.contains("branch `late`"), "{}", failed.stderr);
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["fast", "late", "slow", "slow"]);
    assert_eq!(text(&home.json(&["thread", "show", &thread]), "state"), "active");
}

#[test]
fn kill_finds_branches_without_watchers() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    signal(&recorded(&home, &thread, "opened")["keeper"], "KILL");
    signal(&recorded(&home, &thread, "started")["pid"], "KILL");
    window.wait().unwrap();
    assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0));
    for role in ["slow", "late"] {
        assert!(!is_alive(agent_of(&home, role)), "{role} is still at work");
    }
    assert_eq!(home.json(&["thread", "list"]), json!([]));
    let removed = home.json(&["thread", "rm", &thread]);
    assert_eq!(removed["children"].as_array().unwrap().len(), 4, "the group and its branches: {removed}");
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn removed_group_keeps_results_of_its_branches() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    let group = child_of(&home, &thread);
    assert_eq!(home.uwf(&["thread", "kill", &group]).code, Some(0));
    assert_eq!(window.wait().unwrap().code(), Some(40));
    let dry = home.uwf(&["thread", "rm", &group, "--dry-run", "--format", "text"]);
    assert_eq!(dry.stdout.matches("would remove its child thread").count(), 2, "{}", dry.transcript());
    let removed = home.json(&["thread", "rm", &group]);
    assert_eq!(removed["children"].as_array().unwrap().len(), 2, "the killed branches: {removed}");
    home.file("go", "");
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fast", "last", "late", "late", "slow", "slow"]);
    assert_eq!(home.json(&["thread", "rm", &thread])["children"].as_array().unwrap().len(), 4);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}
