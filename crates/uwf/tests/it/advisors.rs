//! Models that look at a thread as a whole: one that may end it, one that tells what came of it.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

const KEY: &str = "sk-advisor-0123456789";

/// A home whose agent counts, a model for advice, and a thread of so many rounds.
fn counted(server: &LlmServer, config: &str, rounds: usize) -> (TestHome, String) {
    let home = home();
    home.script("counter", "#!/bin/sh\ncat > /dev/null\nenv | grep -c sk-advisor >> \"$UNCAGED_WORKFLOW_STORAGE_ROOT/keys\"\nprintf -- '---\\nn: 7\\n---\\nI counted once more.\\n'\n");
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  a: {{ command: counter, output: text }}\ndefaultAgent: a\n{config}\n",
        server.url()
    ));
    fs::write(home.root().join(".env"), format!("P_KEY={KEY}\n")).unwrap();
    let thread = home.start_counting(rounds, "count to the end");
    (home, thread)
}

fn verdict(verdict: &str, reason: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("verdict", json!({ "verdict": verdict, "reason": reason }))
}

/// The report of a command, whatever its exit code.
fn reported(ran: &FinishedRun) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The thread-end node.
fn end(home: &TestHome, thread: &str) -> Value {
    let end = text(&home.json(&["thread", "show", thread]), "end");
    home.json(&["cas", "get", &end, "--format", "json"])["payload"].clone()
}

#[test]
fn supervisor_ends_looping_thread() {
    let server = LlmServer::start([
        verdict("continue", "it goes well"),
        verdict("kill", format!("the same count again and again, and {KEY}").as_str()),
    ]);
    let config = "modelOverrides: { supervisor: m }\nsupervisorInterval: 2";
    let (home, thread) = counted(&server, config, 100);
    let steps: Vec<FinishedRun> = (0..4).map(|_| home.uwf(&["thread", "step", &thread])).collect();
    let codes: Vec<Option<i32>> = steps.iter().map(|step| step.code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(0), Some(11)]);
    let reports: Vec<Value> = steps.iter().map(reported).collect();
    assert_eq!((&reports[3]["done"], &reports[3]["returnCode"]), (&json!(true), &json!(1)));
    let reason = "supervisor: the same count again and again, and [redacted P_KEY]";
    assert_eq!(reports[3]["reason"], reason);
    let end = end(&home, &thread);
    assert_eq!(
        (&end["status"], &end["returnCode"], &end["reason"], &end["summary"]),
        (&json!("killed"), &json!(1), &json!(reason), &Value::Null)
    );
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "killed");
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "after the second and the fourth step");
    assert!(asked[1].text.contains("count to the end") && asked[1].text.contains("Step 4: worker"));
    assert!(asked[1].text.contains("I counted once more."));
    assert_eq!(fs::read_to_string(home.root().join("keys")).unwrap(), "0\n".repeat(4), "agents are not given the key");
    let left = fs::read_dir(home.root().join("threads").join(&thread).join("attempts")).unwrap();
    let left: Vec<String> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| name.starts_with(&left[0][..26])), "files of advisors are left: {left:?}");
}

/// Scripts that route on exit codes must not take it for a success.
#[test]
fn supervisor_kill_exits_with_11_everywhere() {
    let supervised = || {
        let server = LlmServer::start([verdict("kill", "it goes nowhere")]);
        let (home, thread) = counted(&server, "modelOverrides: { supervisor: m }\nsupervisorInterval: 1", 3);
        (server, home, thread)
    };
    let (_server, home, thread) = supervised();
    let ran = home.uwf(&["run", &thread, "--format", "text"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    assert!(ran.stdout.starts_with("stopped (supervisor: it goes nowhere)"), "{}", ran.stdout);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(11), "again");
    assert_eq!(home.uwf(&["run", &thread, "--exit-code"]).code, Some(11));
    assert_eq!(home.uwf(&["thread", "live", &thread]).code, Some(11));
    assert_eq!(home.json(&["thread", "show", &thread])["returnCode"], 1);
    let again = home.uwf(&["thread", "step", &thread, "--format", "text"]);
    assert_eq!((again.code, &*again.stdout), (Some(11), "stopped (supervisor: it goes nowhere)\n"), "{again:?}");
    assert_eq!(reported(&home.uwf(&["thread", "step", &thread]))["outcome"], "stopped");
    let killed = home.uwf(&["thread", "pause", &thread]);
    assert!(killed.stderr.contains("was stopped (supervisor: it goes nowhere)"), "{}", killed.stderr);
    let (_server, home, _) = supervised();
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(11));
    let (_server, home, thread) = supervised();
    assert_eq!(home.uwf(&["thread", "step", &thread, "--exit-code"]).code, Some(11));
    let (_server, home, thread) = supervised();
    let head = home.head(&thread).unwrap();
    let ran = home.uwf(&[
        "api",
        "POST",
        &format!("/threads/{thread}/step"),
        "--data",
        &format!("{{\"expectedHead\": \"{head}\"}}"),
    ]);
    assert_eq!(reported(&ran)["returnCode"], 1, "{}", ran.transcript());
}

#[test]
fn a_supervisor_that_fails_is_only_logged() {
    let server = LlmServer::start([ScriptedAnswer::status(400, "no").repeated()]);
    let config = "modelOverrides: { supervisor: m }\nsupervisorInterval: 1";
    let (home, thread) = counted(&server, config, 2);
    assert_eq!(home.json(&["thread", "step", &thread])["next"], json!({ "role": "worker" }));
    assert_eq!(home.json(&["thread", "step", &thread])["reason"], "end", "the last step needs no supervisor");
    let log = fs::read_to_string(home.root().join("threads").join(&thread).join("log.jsonl")).unwrap();
    assert!(log.contains("the supervisor failed") && log.contains("W3H7PX0M"), "{log}");
}

#[test]
fn summary_model_summarises_finished_thread() {
    let server = LlmServer::start([ScriptedAnswer::text("  Asked to count, it counted to 7.\n")]);
    let (home, thread) = counted(&server, "modelOverrides: { summary: m }\nsupervisorInterval: 0", 1);
    assert_eq!(home.json(&["thread", "step", &thread])["reason"], "end");
    let end = end(&home, &thread);
    assert_eq!((&end["status"], &end["summary"]), (&json!("completed"), &json!("Asked to count, it counted to 7.")));
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("Asked to count, it counted to 7."), "{read}");
}

#[test]
fn thread_ends_even_without_summary() {
    let server = LlmServer::start([ScriptedAnswer::status(500, "broken").repeated()]);
    let (home, thread) = counted(&server, "modelOverrides: { summary: m }", 1);
    let slow = Instant::now();
    assert_eq!(home.json(&["thread", "step", &thread])["reason"], "end");
    assert!(slow.elapsed() < Duration::from_secs(30));
    assert_eq!(end(&home, &thread)["summary"], Value::Null);
}

#[test]
fn nobody_is_asked_unless_that_is_configured() {
    let server = LlmServer::start([]);
    let (home, thread) = counted(&server, "defaultModel: m", 2);
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "step", &thread]);
    assert_eq!(end(&home, &thread)["summary"], Value::Null);
    assert_eq!(server.requests().len(), 0);
    let (home, thread) = counted(&server, "supervisorInterval: 1", 2);
    home.json(&["thread", "step", &thread]);
    let log = fs::read_to_string(home.root().join("threads").join(&thread).join("log.jsonl")).unwrap();
    assert!(log.contains("supervisorInterval is set, but no model"), "{log}");
}
