//! `notify` of config.yaml: somebody is told what becomes of threads.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::processes::until;

use crate::home;

const COUNT: &str = "#!/bin/sh\n[ -e fail ] && exit 3\necho '{\"n\": 1}'\n";

fn counting(notify: &str) -> TestHome {
    let home = home();
    home.script("worker", COUNT);
    home.config(&format!(
        "agents:\n  w: {{ command: worker, output: json }}\n  me: {{ command: uwf-human }}\ndefaultAgent: w\nmaxSteps: 2\n{notify}"
    ));
    home
}

/// What was told so far, once it is so much.
fn told(home: &TestHome, lines: usize) -> Vec<Value> {
    let file = home.work().join("told");
    let read = || fs::read_to_string(&file).unwrap_or_default();
    until("somebody was told", || read().lines().count() >= lines);
    let told: Vec<Value> = read().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), lines, "{told:?}");
    told
}

#[test]
fn command_receives_thread_event_report() {
    let home = counting("notify: { command: cat >> told }\n");
    let thread = home.start_counting(4, "count");
    home.file("fail", "");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let stuck = &told(&home, 1)[0];
    assert_eq!(
        json!([stuck["event"], stuck["thread"], stuck["workflowName"], stuck["state"], stuck["atRole"], stuck["task"]]),
        json!(["stuck", thread, "count-rounds", "stuck", "worker", "count"])
    );
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(told(&home, 2)[1]["event"], "stuck", "each failed attempt is news");
    fs::remove_file(home.work().join("fail")).unwrap();
    for _ in 0..3 {
        assert_eq!(home.uwf(&["run", &thread]).code, Some(30));
    }
    assert_eq!(told(&home, 3)[2]["event"], "limited", "a thread that stays where it is, is not");
    home.json(&["thread", "kill", &thread]);
    let ended = &told(&home, 4)[3];
    assert_eq!(json!([ended["event"], ended["state"]]), json!(["ended", "killed"]));
}

#[test]
fn only_selected_events_are_sent_and_waiting_once() {
    let home = counting(
        "notify:\n  - { on: waiting, command: cat >> told }\n  - { on: [ended], command: 'cat > \"ended-$UWF_THREAD\"' }\n",
    );
    let thread = home.start_counting(2, "count");
    for _ in 0..3 {
        assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "me"]).code, Some(20));
    }
    assert_eq!(told(&home, 1)[0]["event"], "waiting");
    home.json(&["thread", "answer", &thread, "--data", "{\"n\": 1}"]);
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "me"]).code, Some(20));
    home.json(&["thread", "answer", &thread, "--data", "{\"n\": 1}"]);
    until("its end was told", || home.work().join(format!("ended-{thread}")).exists());
    assert_eq!(told(&home, 2)[1]["state"], "waiting");
}

#[test]
fn webhook_receives_post_and_allows_secret_url() {
    let server = LlmServer::start(vec![ScriptedAnswer::text("fine"); 4]);
    let home = counting(&format!(
        "notify:\n  - {{ webhook: \"{0}/chat/completions\" }}\n  - {{ webhookEnv: HOOK }}\n  - {{ webhookEnv: NO_HOOK }}\n",
        server.url()
    ));
    fs::write(home.root().join(".env"), format!("HOOK={}/secret-path\n", server.url())).unwrap();
    let thread = home.start_counting(1, "count");
    home.json(&["run", &thread]);
    let log = home.root().join("threads").join(&thread).join("log.jsonl");
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    until("all three were tried", || lines().contains("NO_HOOK is not set"));
    let posted: Vec<Value> = server.asked().iter().map(|request| request.body.clone()).collect();
    assert_eq!(json!([posted.len(), posted[0]["event"], posted[0]["thread"]]), json!([1, "ended", thread]));
    assert_eq!(server.requests().len(), 2);
    assert!(lines().contains("$HOOK") && !lines().contains("secret-path"), "{}", lines());
}

#[test]
fn notifications_never_delay_or_fail_steps() {
    let home = counting("notify:\n  - command: sleep 30\n  - command: exit 4\n  - webhook: \"http://127.0.0.1:9/x\"\n");
    let thread = home.start_counting(1, "count");
    let begun = Instant::now();
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn child_threads_send_nothing_and_bad_entries_fail() {
    let home = counting("notify: { command: cat >> told }\n");
    home.config(
        &fs::read_to_string(home.root().join("config.yaml"))
            .unwrap()
            .replace("  me:", "  child: { command: uwf-workflow, args: [inner] }\n  me:"),
    );
    home.put("inner", &uwf_testing::counting_workflow(1).replace("name: count-rounds", "name: inner"));
    let thread = home.start_counting(1, "count");
    home.json(&["thread", "step", &thread, "--agent", "child"]);
    assert_eq!(told(&home, 1)[0]["thread"], thread);
    home.config("notify: [ { on: done, command: x }, { command: x, webhook: y }, { on: stuck } ]\n");
    let ran = home.uwf(&["config", "validate"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap().iter().map(|problem| problem["message"].clone());
    assert_eq!(
        problems.collect::<Vec<_>>(),
        [
            "`on` is `done`; it can be ended, waiting, limited, stuck",
            "`notify` needs exactly one of `command`, `webhook`, `webhookEnv`, `ntfy` and `slack`",
            "`notify` needs exactly one of `command`, `webhook`, `webhookEnv`, `ntfy` and `slack`"
        ]
    );
}
