//! `uwf run` and `uwf thread run`: a thread is stepped to its end, or to a limit.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::processes::until;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::answering::{answering_home, ledger};
use crate::fixtures::review::{reviewing_home, step};
use crate::fixtures::terminal::session_in;
use crate::fixtures::text::{columns, plain};
use crate::{home, transcript};

/// Says `{"n": 1}`, after lines longer than any terminal on stderr, for a second.
const TALKING: &str = r#"#!/bin/sh
read -r line
i=0
while [ $i -lt 10 ]; do
  i=$((i+1))
  printf '\033[31mround %s of a very long story about 日本語 that never ends and never will\033[0m\n' $i >&2
  /bin/sleep 0.1
done
echo '{"n": 1}'
"#;

/// A home with a workflow of two rounds and an agent that talks while it works.
fn talking_home() -> TestHome {
    let home = home();
    home.put("count-rounds", &counting_workflow(2));
    let agent = home.script("talking", TALKING);
    home.config(&format!("agents:\n  w: {{ command: '{}', output: json }}\ndefaultAgent: w\n", agent.display()));
    home
}

#[test]
fn workflow_loops_until_condition_holds() {
    let home = reviewing_home();
    let thread = home.start("review-text", "write about cats");

    let roles: Vec<String> = (0..4)
        .map(|_| {
            let report = home.json(&["thread", "step", &thread]);
            format!("{} done={}", report["role"].as_str().unwrap(), report["done"])
        })
        .collect();
    assert_eq!(roles, ["writer done=false", "reviewer done=false", "writer done=false", "reviewer done=true"]);

    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(
        json!([shown["done"], shown["state"], shown["steps"], shown["role"]]),
        json!([true, "completed", 4, "reviewer"])
    );
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(69), "a finished thread is not active");
}

/// `$number` of a text that is none fails, so nobody can tell what follows the worker.
const UNROUTABLE: &str = "name: unroutable\ndescription: breaks\nroles:\n  worker:\n    goal: Work.\n    meta: { type: object, properties: { n: { type: integer } }, required: [n] }\n\
     conditions:\n  broken: { description: It cannot be told, expression: '$number(steps[-1].output.n & \"x\") > 1' }\n\
     graph:\n  $START: [ { role: worker } ]\n  worker: [ { role: $END, condition: broken }, { role: worker } ]\n";

#[test]
fn unroutable_thread_is_stuck_and_reported_once() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    home.put("unroutable", UNROUTABLE);
    let thread = home.start("unroutable", "x");
    let ran = home.uwf(&["run", &thread, "--format", "text"]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    assert_eq!(ran.stderr.matches("cannot be routed").count(), 1, "{ran:?}");
    let stuck = home.json(&["thread", "list", "--state", "stuck"]);
    assert_eq!(stuck[0]["thread"], json!(thread), "{stuck}");
    let shown = home.json(&["thread", "show", &thread]);
    assert!(shown["why"].as_str().unwrap().contains("cannot be routed from `worker`"), "{shown}");
    assert_eq!(shown.get("atRole"), None, "{shown}");
    let fork = format!("`uwf thread fork {thread} --from-role worker` starts a thread in which `worker` is next");
    assert!(shown["hints"].as_array().unwrap().contains(&json!(fork)), "{shown}");
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("What you can do:\n\n- ") && read.contains(&format!("\n- {fork}")), "{read}");
    let since = shown["since"].clone();
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(65));
    assert_eq!(home.json(&["thread", "show", &thread])["since"], since, "nothing is new");
    let other = home.start("unroutable", "x");
    let ran = home.uwf(&["run", &other, "--steps", "1", "--format", "text"]);
    assert!(ran.code == Some(30) && ran.stderr.contains("cannot be routed"), "{ran:?}");
}

#[test]
fn reaching_step_count_is_not_error() {
    let home = talking_home();
    let thread = home.start("count-rounds", "x");
    home.script("talking", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let ran = home.steady(&home.uwf(&["run", &thread, "--steps", "1", "--format", "text"]).transcript());
    assert!(ran.contains("stopped after 1 step; continue with: uwf run <id>\n"), "{ran}");
    assert!(ran.starts_with("exit 30\nnot done") && !ran.contains("error:"), "{ran}");
    let ran = home.uwf(&["run", &thread, "--steps", "5"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_finished_thread_needs_no_run() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 4);
    assert_snapshot!(transcript(&home, &["run", &thread]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":true,"reason":"end","outcome":"succeeded"}
    "##);
    assert_eq!(home.uwf(&["run", &thread, "--exit-code"]).code, Some(10));
    assert_eq!(home.uwf(&["run", "review-text", "-p", "again", "--exit-code"]).code, Some(10));
    let killed = home.start("review-text", "y");
    home.json(&["thread", "kill", &killed]);
    assert_eq!(home.uwf(&["run", &killed, "--exit-code"]).code, Some(11), "it did not succeed");
}

#[test]
fn run_reaches_end_and_reports_each_step() {
    let home = answering_home();
    home.put("count-rounds", &counting_workflow(3));
    let ran = home.uwf(&["run", "count-rounds", "-p", "x"]);
    let report = ran.json();
    assert_eq!(json!([report["done"], report["reason"], report["role"]]), json!([true, "end", "worker"]));
    let lines: Vec<&str> = ran.stderr.lines().map(|line| line.split(',').next().unwrap()).collect();
    let thread = text(&report, "thread");
    assert_eq!(lines, [&format!("thread {thread}"), "✓ worker by w", "✓ worker by w", "✓ worker by w"]);
}

#[test]
fn limits_end_run_with_own_exit_code() {
    let home = answering_home();
    home.put("count-rounds", &counting_workflow(9));
    let ran = home.uwf(&["run", "count-rounds", "-p", "x", "--steps", "2"]);
    assert_eq!(ran.code, Some(30));
    assert!(ran.stderr.contains("\nstopped after 2 steps"), "{}", ran.stderr);
    let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "x", "--max-steps", "1"]), "thread");
    home.json(&["thread", "step", &thread]);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(30));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["why"]]), json!(["limited", "the thread has 1 step; its limit is 1"]));
    assert_eq!(ledger(&home), 3);
}

mod with_tools {
    use super::*;

    #[test]
    fn progress_stays_in_its_line() {
        let home = talking_home();
        let session = session_in(&home, 40, &["run", "count-rounds", "-p", "x", "--steps", "1"], &[]);
        assert_eq!(session.code, Some(30), "{}", session.shown);
        let live: Vec<String> = session.shown.split("\r\u{1b}[2K").skip(1).map(plain).collect();
        let told: Vec<&String> = live.iter().filter(|line| line.contains("never will")).collect();
        assert!(!told.is_empty(), "{live:?}");
        for line in told {
            assert!(line.starts_with("worker by w, ") && columns(line) < 40, "{line:?}");
            assert!(!line.contains("[31m") && !line.contains("[0m") && !line.contains('\n'), "{line:?}");
        }
    }
}

#[test]
fn wait_for_a_place_is_shown_apart() {
    let home = home();
    home.put("count-rounds", &counting_workflow(1));
    home.script(
        "slow",
        "#!/bin/sh\ncat > /dev/null\ntouch begun\nwhile [ ! -e go ]; do sleep 0.05; done\necho '{\"n\": 1}'\n",
    );
    home.config("agents:\n  s: { command: slow, output: json, max: 1 }\ndefaultAgent: s\n");
    let run = || {
        let mut run = home.command(&["run", "count-rounds", "-p", "count"]);
        run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let first = run();
    until("the first agent is at work", || home.work().join("begun").exists());
    let second = run();
    until("the second one waits", || {
        fs::read_dir(home.root().join("slots")).is_ok_and(|limits| {
            limits.flatten().any(|limit| fs::read_dir(limit.path().join("queue")).is_ok_and(|turns| turns.count() > 0))
        })
    });
    std::thread::sleep(Duration::from_millis(300));
    home.file("go", "");
    let [first, second] = [first, second].map(|run| FinishedRun::from(run.wait_with_output().unwrap()));
    assert!(!first.stderr.contains("(waited"), "{}", first.stderr);
    assert!(second.stderr.contains("✓ worker by s, 0.") && second.stderr.contains("(waited "), "{}", second.stderr);
}
