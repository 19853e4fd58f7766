//! `askTimeout`: a thread whose agent asks a person continues without a reply, by itself with `--wait`.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::mcp_client::Client;
use crate::home;

/// Asks until its prompt has a reply, and counts the starts. Agents of two threads may write the file at the same time.
const ASKING: &str = "#!/bin/sh
prompt=$(cat)
echo \"$prompt\" > prompt.$UWF_ROLE
echo $UWF_ROLE >> ledger
if echo \"$prompt\" | grep -q -e 'There was no reply within' -e 'Pears, please'; then echo '{\"n\": 1}'; exit; fi
echo '{\"status\": \"needs_input\", \"question\": \"Apples or pears?\"}'
";

/// A home whose agent asks, and which continues without a reply after this time.
fn asking(limit: &str) -> TestHome {
    let home = home();
    home.script("asks", ASKING);
    home.config(&format!(
        "agents:\n  t: {{ command: asks, output: json }}\n  c: {{ command: uwf-workflow, args: [count-rounds] }}\n\
         defaultAgent: t\naskTimeout: {limit}\nagentOverrides: {{ outer: {{ worker: c }} }}\n"
    ));
    home.put("count-rounds", &counting_workflow(1));
    home
}

fn starts(home: &TestHome) -> usize {
    fs::read_to_string(home.work().join("ledger")).unwrap_or_default().lines().count()
}

/// The report of a command that may have failed.
fn report(ran: &FinishedRun) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.transcript()))
}

/// Checks that a time is so many seconds after now.
#[track_caller]
fn assert_in(seconds: u64, at: &Value) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let left = at.as_u64().unwrap_or_else(|| panic!("{at}")).saturating_sub(u64::try_from(now.as_millis()).unwrap());
    assert!((seconds - 60) * 1000 < left && left <= seconds * 1000, "{left} ms");
}

#[test]
fn step_and_lists_say_when_the_wait_ends() {
    let home = asking("1h");
    let thread = home.start("count-rounds", "count");
    for _ in 0..2 {
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(20), "{}", ran.transcript());
        let report = report(&ran);
        assert_in(3600, &report["error"]["until"]);
        assert_eq!(report["until"], report["error"]["until"]);
    }
    assert_eq!(starts(&home), 1, "the question is not asked again");
    let (shown, row) = (home.json(&["thread", "show", &thread]), home.json(&["thread", "list"])[0].clone());
    assert_in(3600, &shown["until"]);
    assert_eq!((&row["until"], &row["state"]), (&shown["until"], &json!("waiting")));

    // The limit in the configuration of now holds.
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("1h", "2h"));
    assert_in(7200, &report(&home.uwf(&["thread", "step", &thread]))["error"]["until"]);
    home.config(&config.replace("askTimeout: 1h", "askTimeout: 0"));
    let forever = report(&home.uwf(&["thread", "step", &thread]));
    assert_eq!((&forever["error"]["until"], &forever["until"]), (&Value::Null, &Value::Null), "{forever}");
}

#[test]
fn run_with_wait_continues_without_reply() {
    let home = asking("2s");
    let thread = home.start("count-rounds", "count");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20), "without --wait it stops");
    let ran = home.uwf(&["run", &thread, "--wait"]);
    assert_eq!((ran.code, starts(&home)), (Some(0), 2), "{}", ran.transcript());
    assert!(ran.stderr.contains("waiting ") && ran.stderr.contains("Apples or pears?"), "{}", ran.stderr);
    let prompt = fs::read_to_string(home.work().join("prompt.worker")).unwrap();
    assert!(prompt.contains("There was no reply within 2s"), "{prompt}");
}

#[test]
fn reply_ends_the_wait() {
    let home = asking("1h");
    let thread = home.start("count-rounds", "count");
    let other = home.start("count-rounds", "count too");
    let begun = Instant::now();
    let mut windows: Vec<_> = [&["run", &thread, "--wait"][..], &["run", &other, "--wait"]]
        .map(|args| home.command(args).stdout(std::process::Stdio::null()).spawn().unwrap())
        .into();
    until("both wait", || {
        let rows = home.json(&["thread", "list"]);
        rows.as_array().unwrap().iter().filter(|row| row["state"] == "waiting").count() == 2
    });
    for thread in [&thread, &other] {
        home.json(&["thread", "answer", thread, "-m", "Pears, please"]);
    }
    for window in &mut windows {
        assert_eq!(window.wait().unwrap().code(), Some(0));
    }
    assert!(begun.elapsed() < Duration::from_mins(10), "no run waited for the hour");
}

#[test]
fn run_all_with_wait_continues_asking_threads() {
    let home = asking("2s");
    let first = home.start("count-rounds", "count");
    assert_eq!(home.uwf(&["run", &first]).code, Some(20));
    let second = home.start("count-rounds", "count too");
    let ran = home.uwf(&["run", "--all", "--wait"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stderr.contains(&format!("{second} waits ")) && ran.stderr.contains("for a reply"), "{}", ran.stderr);
    for thread in [&first, &second] {
        assert_eq!(home.json(&["thread", "show", thread])["state"], "completed");
    }
}

#[test]
fn question_without_reply_in_time_is_ready() {
    let home = asking("1s");
    let thread = home.start("count-rounds", "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    until("the wait is over", || home.json(&["thread", "show", &thread])["state"] == "active");
    assert_eq!(home.json(&["thread", "list"])[0]["state"], "active");
    let ran = home.uwf(&["run", "--all"]);
    assert_eq!((ran.code, starts(&home)), (Some(0), 2), "{}", ran.transcript());
}

#[test]
fn questions_below_a_thread_end_its_wait() {
    let home = asking("2s");
    home.put(
        "panel",
        "name: panel
roles:
  one: { goal: x, meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
  two: { goal: x, meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
  both: { play: [ one, two ] }
graph:
  $START: [ { role: both } ]
  both: [ { role: $END } ]
",
    );
    home.put("outer", &counting_workflow(1).replace("count-rounds", "outer"));
    for workflow in ["panel", "outer"] {
        let stopped = home.uwf(&["run", workflow, "-p", "x"]);
        assert_eq!(stopped.code, Some(20), "{}", stopped.transcript());
        let report = report(&stopped);
        assert!(report["error"]["until"].is_u64(), "{report}");
        let thread = match workflow {
            "panel" => thread_of(&stopped),
            _ => text(&report, "thread"),
        };
        let ran = home.uwf(&["run", &thread, "--wait"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    }
    assert_eq!(starts(&home), 6, "each role asked once, and was played once");
}

#[test]
fn api_and_tool_wait_as_the_option_does() {
    let home = asking("2s");
    let server = TestServer::start(&home, &[]);
    let run = |more: &Value| {
        let thread = home.start("count-rounds", "count");
        let mut body = json!({ "expectedHead": home.head(&thread).unwrap(), "wait": 120 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post(&format!("/api/threads/{thread}/run"), &body)
    };
    let stopped = run(&json!({}));
    assert_eq!(stopped.status, 202, "{stopped:?}");
    assert!(stopped.json()["error"]["until"].is_u64(), "{stopped:?}");
    assert_eq!(run(&json!({ "waitForLimits": false })).status, 202);
    let done = run(&json!({ "waitForLimits": true }));
    assert_eq!((done.status, &done.json()["done"]), (200, &json!(true)), "{done:?}");
    assert_eq!(run(&json!({ "waitForLimits": "soon" })).status, 400);

    let thread = home.start("count-rounds", "count");
    let mut client = Client::start(&home, &["mcp"]);
    let (said, is_error) = client.call("run", json!({ "thread": thread, "waitForLimits": "yes" }));
    assert!(is_error && said.contains("`waitForLimits` must be true or false"), "{said}");
    assert_eq!(client.report("run", json!({ "thread": thread, "waitForLimits": true, "wait": 120 }))["done"], true);
}
