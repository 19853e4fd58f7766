//! Groups whose processes are killed: branches at work continue, and no result is paid for twice.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};
use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::child_threads::{child_of, kill_uwf};
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

/// Kills a thread while this command steps it. Returns the run of the command.
fn killed_during(home: &TestHome, thread: &str, args: &[&str]) -> FinishedRun {
    let _ = fs::remove_file(home.work().join("runs"));
    let window = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("an agent works", || pid_file(home, "slow").is_some_and(is_alive));
    home.json(&["thread", "kill", thread]);
    FinishedRun::from(window.wait_with_output().unwrap())
}

#[test]
fn killed_thread_is_an_outcome_to_its_stepper() {
    for workflow in ["panel", "alone"] {
        let (home, _) = panel();
        home.put(
            "alone",
            "name: alone\ndescription: x\nroles:\n  slow: { goal: x }\ngraph:\n  $START: [ { role: slow } ]\n  slow: [ { role: $END } ]\n",
        );
        for command in [&["run"][..], &["thread", "step"]] {
            let thread = home.start(workflow, "x");
            let ran = killed_during(&home, &thread, &[command, &[&thread]].concat());
            assert_eq!(ran.code, Some(11), "{workflow} {command:?}: {}", ran.transcript());
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!((&report["done"], &report["outcome"]), (&json!(true), &json!("killed")), "{report}");
            let thread = home.start(workflow, "x");
            let ran = killed_during(&home, &thread, &[command, &[&thread, "--format", "text"]].concat());
            assert_eq!(ran.code, Some(11), "{workflow} {command:?}: {}", ran.transcript());
            assert!(ran.stdout.contains("killed"), "{}", ran.transcript());
        }
        home.json(&["thread", "list"]).as_array().unwrap().iter().filter(|row| row["parent"].is_null()).for_each(
            |row| {
                home.json(&["thread", "kill", &text(row, "thread")]);
            },
        );
        let thread = home.start(workflow, "x");
        let ran = killed_during(&home, &thread, &["run", "--all"]);
        assert_eq!(ran.code, Some(11), "{}", ran.transcript());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report[0]["outcome"], "killed", "{report}");
    }
}

#[test]
fn signal_to_the_stepper_is_no_outcome() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    signal(window.id(), "TERM");
    let stopped = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(143), "{}", stopped.transcript());
}

#[test]
fn group_is_not_forked() {
    let home = home();
    home.put("panel", PANEL);
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\ncase $UWF_ROLE in late) exit 3;; esac\necho done\n");
    let thread = home.start("panel", "x");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let group = child_of(&home, &thread);
    let head = home.head(&group).unwrap();
    for named in [&group, &head] {
        let refused = home.uwf(&["thread", "fork", named]);
        assert_eq!(refused.code, Some(64), "{}", refused.transcript());
        assert!(refused.stderr.contains("--redo GROUP.BRANCH` plays one branch again"), "{}", refused.stderr);
    }
    let refused = home.uwf(&["thread", "fork", &group]);
    assert!(refused.stderr.contains(&format!("fork its parent: `uwf thread fork {thread}`")), "{}", refused.stderr);
    assert_eq!(home.json(&["thread", "list", "--all"]).as_array().unwrap().len(), 5, "no thread was made");
}

const ALL_ONCE: [&str; 3] = ["fast", "late", "slow"];

#[test]
fn branches_at_work_outlive_the_group() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
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
    let (keeper, agent) = (home.keeper(&thread), home.recorded(&thread, "started")["pid"].clone());
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
fn branches_at_work_outlive_keeper_of_the_group() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    let group = home.recorded(&thread, "started")["pid"].clone();
    home.kill_keeper(&thread);
    assert_eq!(window.wait().unwrap().code(), Some(70));
    let mut again = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the next step has ended the earlier process of the group", || !is_alive(&group));
    until("the next step plays the group", || home.recorded(&thread, "started")["pid"] != group);
    assert!(is_alive(agent_of(&home, "slow")) && is_alive(agent_of(&home, "late")), "they are paid for");
    home.file("go", "");
    assert_eq!(again.wait().unwrap().code(), Some(0));
    assert_eq!(runs(&home), ALL_ONCE);
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
fn stopped_group_begins_no_further_branch() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let home = home();
        home.put("panel", &PANEL.replace("play: [ fast, slow, late ]", "play: [ slow, fast, late ], max: 1"));
        home.script("worker", AGENT);
        home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
        let thread = home.start("panel", "x");
        let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::piped()).spawn().unwrap();
        until("the first branch has begun", || pid_file(&home, "slow").is_some());
        signal(window.id(), name);
        assert_eq!(window.wait().unwrap().code(), Some(code), "{name}");
        assert_eq!(runs(&home), ["slow"], "{name}");
        home.file("go", "");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        assert_eq!(runs(&home), ["fast", "late", "slow", "slow"]);
    }
}

#[test]
fn ctrl_c_stops_branches_of_a_killed_group() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
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
    assert!(
        failed.stderr.contains("branch `all.slow`") && !failed.stderr.contains("branch `all.late`"),
        "{}",
        failed.stderr
    );
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["fast", "late", "slow", "slow"]);
    assert_eq!(text(&home.json(&["thread", "show", &thread]), "state"), "active");
}

#[test]
fn kill_finds_branches_without_watchers() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    home.kill_keeper(&thread);
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
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

/// The thread of a branch.
fn branch(home: &TestHome, name: &str) -> String {
    let threads = home.json(&["thread", "list", "--all"]);
    let row = threads.as_array().unwrap().iter().find(|row| row["branch"] == format!("all.{name}"));
    text(row.unwrap(), "thread")
}

#[test]
fn agent_of_branch_outlives_its_keeper() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    home.kill_keeper(&branch(&home, "slow"));
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_alive(agent_of(&home, "slow")), "it is paid for");
    home.file("go", "");
    let ended = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(runs(&home), ALL_ONCE);
    let output = home.json(&["thread", "eval", &thread, "$last('all').slow"]);
    assert_eq!(output, json!("I am slow."));
}

#[test]
fn agent_of_branch_outlives_keeper_and_group() {
    for everything in [false, true] {
        let (home, thread) = panel();
        let mut window = step_until_at_work(&home, &thread);
        home.kill_keeper(&branch(&home, "slow"));
        if everything {
            signal(window.id(), "KILL");
            home.kill_keeper(&thread);
        }
        signal(&home.recorded(&thread, "started")["pid"], "KILL");
        window.wait().unwrap();
        let mut again = home.command(&["thread", "step", &thread]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(600));
        assert!(is_alive(agent_of(&home, "slow")), "it is paid for");
        home.file("go", "");
        assert_eq!(again.wait().unwrap().code(), Some(0));
        assert_eq!(runs(&home), ALL_ONCE, "killed with its keeper: {everything}");
    }
}

#[test]
fn stop_ends_agent_of_branch_without_keeper() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    home.kill_keeper(&branch(&home, "slow"));
    std::thread::sleep(Duration::from_millis(300));
    signal(window.id(), "INT");
    assert_eq!(window.wait().unwrap().code(), Some(130));
    assert!(!is_alive(agent_of(&home, "slow")) && !is_alive(agent_of(&home, "late")));
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    home.file("go", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
}

#[test]
fn timeout_holds_for_agent_without_keeper() {
    let (home, thread) = panel();
    home.config("agents:\n  t: { command: worker, output: text, timeout: 3 }\ndefaultAgent: t\nkillGrace: 1\n");
    let window = step_until_at_work(&home, &thread);
    home.kill_keeper(&branch(&home, "slow"));
    let failed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(failed.code, Some(40), "{}", failed.stderr);
    assert!(!is_alive(agent_of(&home, "slow")) && !is_alive(agent_of(&home, "late")));
    assert_eq!(runs(&home), ALL_ONCE, "a failed branch is repeated only on request");
    home.file("go", "");
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(0));
}

#[test]
fn stopped_branch_keeps_its_answer() {
    let server = LlmServer::start(LlmScript::deciding(|_| {
        ScriptedAnswer::call("extracted", json!({ "found": true, "value": { "n": 7 } })).after(Duration::from_secs(2))
    }));
    let home = home();
    let panel = PANEL.replace(
        "slow: { goal: x }",
        "slow: { goal: x, meta: { type: object, properties: { n: { type: integer } }, required: [n] } }",
    );
    home.put("panel", &panel);
    home.script("worker", AGENT);
    home.file("go", "");
    home.config(&format!(
        "agents:\n  t: {{ command: worker, output: text }}\ndefaultAgent: t\nkillGrace: 1\nextract: {{ feedback: 0 }}\n\
         providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  extract: {{ provider: p, name: reader }}\n",
        server.url()
    ));
    let thread = home.start("panel", "x");
    let mut window = home.command(&["thread", "step", &thread]).spawn().unwrap();
    let has_ended = |role: &str| {
        let shown = home.json(&["thread", "show", &thread]);
        let branches = shown["group"]["branches"].as_array().cloned().unwrap_or_default();
        branches.iter().any(|branch| branch["name"] == role && branch["state"] == "completed")
    };
    until("the answer is being read", || !server.asked().is_empty() && has_ended("fast") && has_ended("late"));
    signal(window.id(), "INT");
    assert_eq!(window.wait().unwrap().code(), Some(130));
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ALL_ONCE, "its answer was complete");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('all').slow"]), json!({"n": 7}));
}

#[test]
fn finished_branch_is_not_removed_while_needed() {
    let (home, thread) = panel();
    let window = home.command(&["thread", "step", &thread]).stderr(Stdio::piped()).spawn().unwrap();
    until("the branches have begun", || pid_file(&home, "slow").is_some() && pid_file(&home, "late").is_some());
    signal(agent_of(&home, "slow"), "KILL");
    home.file("go", "");
    assert_eq!(FinishedRun::from(window.wait_with_output().unwrap()).code, Some(40));
    let done = branch(&home, "fast");
    for args in [&["thread", "rm", &done][..], &["thread", "rm", &done, "--dry-run"]] {
        let refused = home.uwf(args);
        assert_eq!(refused.code, Some(64), "{}", refused.transcript());
        for part in
            ["`all.fast`", &thread, &format!("`uwf thread retry {thread}`"), &format!("`uwf thread kill {thread}`")]
        {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
    }
    let old = home.json(&["thread", "rm", "--older-than", "0s"]);
    assert_eq!(old["removed"], json!([]), "{old}");
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(0));
    assert_eq!(runs(&home), ["fast", "late", "slow", "slow"]);
    assert_eq!(home.uwf(&["thread", "rm", &done]).code, Some(0), "its result is part of a step now");
}

#[test]
fn agents_outlive_all_processes_of_uwf() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    kill_uwf(&home);
    window.wait().unwrap();
    let mut again = home.command(&["run", &thread]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    assert!(is_alive(agent_of(&home, "slow")) && is_alive(agent_of(&home, "late")), "they are paid for");
    home.file("go", "");
    assert_eq!(again.wait().unwrap().code(), Some(0));
    assert_eq!(runs(&home), ["fast", "last", "late", "slow"]);
    let output = home.json(&["thread", "eval", &thread, "$last('all')"]);
    assert_eq!(output, json!({"fast": "I am fast.", "slow": "I am slow.", "late": "I am late."}));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn answers_without_any_process_of_uwf_are_used() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    kill_uwf(&home);
    window.wait().unwrap();
    home.file("go", "");
    for role in ["slow", "late"] {
        until("the agent has ended", || !is_alive(agent_of(&home, role)));
    }
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fast", "last", "late", "slow"]);
}

#[test]
fn failure_without_uwf_is_no_answer() {
    let (home, thread) = panel();
    home.script("worker", &AGENT.replace("echo \"I", "test ! -e bad || { echo 'Out of tokens.'; exit 3; }\necho \"I"));
    let mut window = step_until_at_work(&home, &thread);
    kill_uwf(&home);
    window.wait().unwrap();
    home.file("bad", "");
    home.file("go", "");
    for role in ["slow", "late"] {
        until("the agent has ended", || !is_alive(agent_of(&home, role)));
    }
    fs::remove_file(home.work().join("bad")).unwrap();
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('all').slow"]);
    assert_eq!(output, json!("I am slow."));
}

#[test]
fn retry_plays_a_killed_branch_again() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    let slow = branch(&home, "slow");
    assert_eq!(home.uwf(&["thread", "kill", &slow]).code, Some(0));
    home.file("go", "");
    let failed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(failed.code, Some(40), "{}", failed.stderr);
    let said = format!("branch `all.slow` is stuck: child thread {slow} was killed");
    assert!(failed.stderr.contains(&said), "{}", failed.stderr);
    assert!(!failed.stderr.contains("thread rm"), "{}", failed.stderr);
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["fast", "late", "slow", "slow"]);
    assert_eq!(home.json(&["thread", "show", &slow])["state"], "completed");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn run_reports_a_killed_branch_again() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    assert_eq!(home.uwf(&["thread", "kill", &branch(&home, "slow")]).code, Some(0));
    home.file("go", "");
    let failed = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(failed.code, Some(40), "{}", failed.stderr);
    // Long enough for a poll while the branch works.
    home.script("worker", &AGENT.replace("echo $UWF_ROLE >> runs", "echo $UWF_ROLE >> runs\nsleep 0.5"));
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    for line in ["▸ all.slow by", "✓ all.slow by"] {
        assert_eq!(ran.stderr.matches(line).count(), 1, "{line}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("all.fast") && !ran.stderr.contains("✗"), "{}", ran.stderr);
}

#[test]
fn retry_plays_a_killed_group_again() {
    let (home, thread) = panel();
    let mut window = step_until_at_work(&home, &thread);
    assert_eq!(home.uwf(&["thread", "kill", &child_of(&home, &thread)]).code, Some(0));
    assert_eq!(window.wait().unwrap().code(), Some(40));
    home.file("go", "");
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["fast", "late", "late", "slow", "slow"], "the branch that had ended stays");
}

#[test]
fn paused_branch_holds_its_group() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    let slow = branch(&home, "slow");
    let paused = home.json(&["thread", "pause", &slow]);
    assert_eq!(paused["pausing"], true, "{paused}");
    home.file("go", "");
    let held = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(held.code, Some(20), "{}", held.stderr);
    assert!(held.stderr.contains("branch `all.slow` is paused: "), "{}", held.stderr);
    assert!(held.stderr.contains(&format!("`uwf thread resume {slow}`")), "{}", held.stderr);
    let state = |id: &str| text(&home.json(&["thread", "show", id]), "state");
    assert_eq!((state(&slow).as_str(), state(&thread).as_str()), ("paused", "waiting"));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(home.uwf(&["thread", "resume", &slow]).code, Some(0));
    assert_eq!(state(&thread), "active");
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["fast", "last", "late", "slow"]);
}

#[test]
fn branch_resumed_while_siblings_work_is_used() {
    let (home, thread) = panel();
    home.script("worker", &AGENT.replace("-e go ", "-e go-$UWF_ROLE "));
    let window = step_until_at_work(&home, &thread);
    let slow = branch(&home, "slow");
    assert_eq!(home.uwf(&["thread", "pause", &slow]).code, Some(0));
    home.file("go-slow", "");
    until("the branch is paused", || home.json(&["thread", "show", &slow])["state"] == "paused");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(home.uwf(&["thread", "resume", &slow]).code, Some(0));
    home.file("go-late", "");
    let ended = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(runs(&home), ALL_ONCE);
}

#[test]
fn repair_spares_agents_of_a_living_group() {
    let (home, thread) = panel();
    let window = step_until_at_work(&home, &thread);
    home.kill_keeper(&branch(&home, "slow"));
    std::thread::sleep(Duration::from_millis(300));
    let repaired = home.uwf(&["doctor", "--fix"]);
    assert!(!repaired.stdout.contains("ended "), "{}", repaired.transcript());
    assert!(is_alive(agent_of(&home, "slow")), "its group waits for it");
    home.file("go", "");
    let ended = FinishedRun::from(window.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(runs(&home), ALL_ONCE);
}

#[test]
fn abandoned_child_ends_with_the_step() {
    let home = home();
    let one_role = |name: &str, role: &str| {
        home.put(
            name,
            &format!(
                "name: {name}\ndescription: x\nroles:\n  {role}: {{ goal: x }}\n  last: {{ goal: x }}\ngraph:\n  $START: [ {{ role: {role} }} ]\n  {role}: [ {{ role: last }} ]\n  last: [ {{ role: $END }} ]\n"
            ),
        );
    };
    one_role("outer", "work");
    one_role("inner", "slow");
    home.script("worker", AGENT);
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  inner: { command: uwf-workflow, args: [inner] }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    let started = home.json(&["thread", "start", "outer", "-p", "x", "--agent", "work=inner"]);
    let thread = text(&started, "thread");
    let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
    until("the child is at work", || pid_file(&home, "slow").is_some());
    let slow = agent_of(&home, "slow");
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
    assert_eq!(window.wait().unwrap().code(), Some(40));
    assert!(is_alive(slow), "a retry would wait for it");
    let ran = home.uwf(&["run", &thread, "--agent", "work=t"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    until("the agent of the child has ended", || !is_alive(slow));
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

uwf_testing::also_as_posix!(stop_ends_agent_of_branch_without_keeper, timeout_holds_for_agent_without_keeper);
