//! Child threads and their parents that are killed, paused, stuck or lose their keeper.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{FinishedRun, text};

use crate::fixtures::child_threads::{AGENTS, checker, child_of, go, planned, ran, spawn, staffed, state};
use crate::fixtures::faults::with_fault;
use crate::transcript;

#[test]
fn sigkilled_child_continues_without_paying_twice() {
    let home = staffed();
    let thread = planned(&home);
    let mut window = spawn(&home, &["thread", "step", &thread]);
    let checker = checker(&home);
    for pid in [&home.recorded(&thread, "opened")["keeper"], &home.recorded(&thread, "started")["pid"]] {
        signal(pid, "KILL");
    }
    assert_eq!(window.wait().unwrap().code(), Some(70));
    let child = child_of(&home, &thread);
    assert!(is_alive(&checker), "the child's step has a keeper of its own");
    let again = spawn(&home, &["thread", "step", &thread]);
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_alive(&checker), "and is waited for");
    go(&home);
    assert!(again.wait_with_output().unwrap().status.success());
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(child_of(&home, &thread), child);
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
}

#[test]
fn child_outlives_dead_parent_keeper() {
    let home = staffed();
    let thread = planned(&home);
    let mut window = spawn(&home, &["thread", "step", &thread]);
    let checker = checker(&home);
    let earlier = home.recorded(&thread, "started")["pid"].to_string();
    home.kill_keeper(&thread);
    assert_eq!(window.wait().unwrap().code(), Some(70));
    // At once, so that the agent of the dead keeper may still be there.
    let again = spawn(&home, &["run", &thread]);
    until("the earlier process has ended", || !is_alive(&earlier));
    std::thread::sleep(Duration::from_millis(400));
    assert!(is_alive(&checker));
    go(&home);
    assert!(again.wait_with_output().unwrap().status.success());
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
}

#[test]
fn stopping_parent_ends_child_agents() {
    let home = staffed();
    let thread = planned(&home);
    let mut window = spawn(&home, &["thread", "step", &thread]);
    let first = checker(&home);
    signal(window.id(), "INT");
    assert_eq!(window.wait().unwrap().code(), Some(130));
    assert!(!is_alive(&first));
    let child = child_of(&home, &thread);
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["active", "active"]));
    go(&home);
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(child_of(&home, &thread), child);
    assert_eq!(ran(&home), ["plan", "code", "check", "check", "tell"], "only what was interrupted is done again");
}

#[test]
fn killing_the_parent_kills_the_child() {
    let home = staffed();
    let thread = planned(&home);
    let mut window = spawn(&home, &["thread", "step", &thread]);
    let checker = checker(&home);
    let report = json!({"thread": thread, "archived": true, "task": "Cross the river."});
    assert_eq!(home.json(&["thread", "kill", &thread]), report);
    assert!(!is_alive(&checker));
    assert!(!window.wait().unwrap().success());
    let child = child_of(&home, &thread);
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["killed", "killed"]));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
    assert_eq!(fs::read_dir(home.root().join("marks")).unwrap().count(), 0);
}

#[test]
fn retry_continues_a_killed_child() {
    let home = staffed();
    let thread = planned(&home);
    let window = home.command(&["thread", "step", &thread]).stderr(Stdio::piped()).spawn().unwrap();
    checker(&home);
    let child = child_of(&home, &thread);
    home.json(&["thread", "kill", &child]);
    let failed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!((failed.code, state(&home, &thread)), (Some(40), json!("stuck")));
    let said = format!(
        "error: role `build`: child thread {child} was killed\nhint: `uwf thread retry {thread}` continues it\n"
    );
    assert!(failed.stderr.contains(&said), "{}", failed.stderr);
    go(&home);
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(0));
    assert_eq!(child_of(&home, &thread), child);
    assert_eq!(ran(&home), ["plan", "code", "check", "check"], "only what was killed is done again");
}

#[test]
fn parent_step_names_and_continues_failed_child() {
    let home = staffed();
    home.script("checks", "#!/bin/sh\necho check >> ran\n[ -e go ] || { echo 'no compiler' >&2; exit 3; }\necho '{\"built\": \"a bridge\"}'\n");
    let thread = planned(&home);
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @r"
    exit 40
    --- stderr
    error: child thread <id>, which plays role `build`, failed: agent `checks` exited with 3; its last words: no compiler
    hint: `uwf thread show <id>` shows the child; `uwf thread step <id>` continues with it
    hint: all it printed is kept: `uwf thread step-details #1`
    ");
    let child = child_of(&home, &thread);
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["stuck", "stuck"]));
    go(&home);
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(ran(&home), ["plan", "code", "check", "check", "tell"]);
}

#[test]
fn pausing_parent_lets_running_child_step_finish() {
    let home = staffed();
    let thread = planned(&home);
    let window = spawn(&home, &["thread", "step", &thread]);
    checker(&home);
    let child = child_of(&home, &thread);
    home.json(&["thread", "pause", &thread, "--reason", "too loud"]);
    assert_eq!(state(&home, &child), "running", "what runs ends as it would");
    go(&home);
    // The child's last step ends it, and with it the role: that step was running.
    assert!(window.wait_with_output().unwrap().status.success());
    assert_eq!(home.json(&["thread", "show", &child])["state"], "completed");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
}

#[test]
fn children_of_paused_thread_start_no_steps() {
    let home = staffed();
    home.script("code", "#!/bin/sh\necho code >> ran\necho $$ > pid\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"text\": \"x\"}'\n");
    home.config(
        &AGENTS
            .replace("write-code: { check", "write-code: { code: slow, check")
            .replace("  human:", "  slow: { command: code, output: json }\n  human:"),
    );
    let thread = planned(&home);
    let window = spawn(&home, &["run", &thread]);
    checker(&home);
    let child = child_of(&home, &thread);
    home.json(&["thread", "pause", &thread, "--reason", "too loud"]);
    go(&home);
    assert_eq!(window.wait_with_output().unwrap().status.code(), Some(20));
    assert_eq!(ran(&home), ["plan", "code"]);
    assert_snapshot!(transcript(&home, &["thread", "step", &child]), @r"
    exit 20
    --- stderr
    waiting: thread <id> is paused with its parent <id>: too loud
    hint: `uwf thread resume <id>` resumes it
    ");
    let rows = home.json(&["thread", "list", "--state", "paused"]);
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    assert_eq!(text(&rows[0], "why"), format!("paused with thread {thread}: too loud"));
    assert_eq!(state(&home, &child), "paused");
    assert_eq!(home.json(&["thread", "resume", &thread])["state"], "active");
    assert_eq!(state(&home, &child), "active");
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
}

#[test]
fn paused_child_makes_parent_wait() {
    let home = staffed();
    home.config(&AGENTS.replace("check: checks", "check: human"));
    let thread = planned(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let child = child_of(&home, &thread);
    home.config(AGENTS);
    go(&home);
    home.json(&["thread", "pause", &child, "--reason", "wait a moment"]);
    assert_snapshot!(transcript(&home, &["thread", "step", &thread]), @r"
    exit 20
    --- stderr
    waiting: role `build` is played by child thread <id>: thread <id> is paused: wait a moment
    hint: `uwf thread resume <id>` resumes it
    hint: `uwf thread show <id>` shows the child; `uwf thread step <id>` continues with it
    ");
    assert_eq!(json!([state(&home, &thread), state(&home, &child)]), json!(["waiting", "paused"]));
    home.json(&["thread", "resume", &child]);
    assert_eq!(home.json(&["run", &thread])["done"], true, "and somebody else answers for the person");
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
}

mod with_tools {
    use super::*;

    /// The index has lost a child thread, and the disk is full when it is begun anew: what its record tells stays.
    #[test]
    fn failed_child_restart_keeps_record() {
        let home = staffed();
        go(&home);
        home.config(&AGENTS.replace("args: [write-code] }", "args: [write-code], config: { maxSteps: 1 } }"));
        let thread = planned(&home);
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
        let child = child_of(&home, &thread);
        let paid = text(&home.recorded(&child, "finished"), "step");
        let index = home.root().join("threads.yaml");
        let kept: Vec<String> = fs::read_to_string(&index)
            .unwrap()
            .lines()
            .filter(|line| !line.contains(&child))
            .map(str::to_owned)
            .collect();
        fs::write(&index, kept.join("\n") + "\n").unwrap();
        let ran = with_fault(&home, "renameat:error=ENOSPC:when=1", &["thread", "step", &thread]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(!fs::read_to_string(&index).unwrap().contains(&child), "it was not begun: {ran:?}");
        assert_eq!(text(&home.recorded(&child, "finished"), "step"), paid);
    }
}

#[test]
fn killed_parent_gets_no_step_hint() {
    let home = staffed();
    let thread = planned(&home);
    let step =
        home.command(&["thread", "step", &thread]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    checker(&home);
    home.json(&["thread", "kill", &thread]);
    let ended = FinishedRun::from(step.wait_with_output().unwrap());
    let said = ended.transcript();
    assert_eq!(ended.code, Some(11), "{said}");
    assert!(
        !said.contains("then a step of this thread") && !said.contains(&format!("uwf thread step {thread}")),
        "{said}"
    );
}

#[test]
fn agent_of_child_outlives_its_keeper() {
    let home = staffed();
    let thread = planned(&home);
    let window = spawn(&home, &["run", &thread]);
    let checker = checker(&home);
    home.kill_keeper(&child_of(&home, &thread));
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_alive(&checker), "it is paid for");
    go(&home);
    assert!(window.wait_with_output().unwrap().status.success());
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
}

#[test]
fn finished_child_is_not_removed_while_needed() {
    let home = staffed();
    let thread = planned(&home);
    let mut window = spawn(&home, &["thread", "step", &thread]);
    checker(&home);
    for pid in [&home.recorded(&thread, "opened")["keeper"], &home.recorded(&thread, "started")["pid"]] {
        signal(pid, "KILL");
    }
    window.wait().unwrap();
    go(&home);
    let child = child_of(&home, &thread);
    until("the child has checked", || home.json(&["thread", "show", &child])["steps"] == 2);
    until("the child has ended", || state(&home, &child) == "completed");
    let refused = home.uwf(&["thread", "rm", &child]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains(&format!("a child thread of thread {thread}")), "{}", refused.stderr);
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(ran(&home), ["plan", "code", "check", "tell"]);
    assert_eq!(home.uwf(&["thread", "rm", &child]).code, Some(0));
}
