//! `retry` and `fallback` of an agent: what follows a failed attempt within a step.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::processes::{signal, until};
use uwf_testing::server::TestServer;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// A home whose agent `w` runs `body` with the number of its start in `$n`, and a thread of one round.
fn failing(settings: &str, body: &str) -> (TestHome, String) {
    let home = home();
    let script = |name: &str, body: &str| {
        home.script(
            name,
            &format!("#!/bin/sh\ncat > prompt-{name}\necho x >> {name}-starts\nn=$(wc -l < {name}-starts)\n{body}\n"),
        )
    };
    script("worker", body);
    script("other", "echo '{\"n\": 2}'");
    home.config(&format!(
        "agents:\n  w: {{ command: worker, output: json, {settings} }}\n  o: {{ command: other, output: json }}\ndefaultAgent: w\n"
    ));
    let thread = home.start_counting(1, "count");
    (home, thread)
}

fn starts(home: &TestHome, name: &str) -> usize {
    fs::read_to_string(home.work().join(format!("{name}-starts"))).map_or(0, |text| text.lines().count())
}

/// The errors of the failed attempts at the first step.
fn errors(home: &TestHome, thread: &str) -> Vec<Value> {
    let why = home.json(&["thread", "why", thread]);
    let failed = why["step"]["output"]["failed"].as_array().cloned().unwrap_or_default();
    failed.into_iter().map(|failed| failed["error"].clone()).collect()
}

#[test]
fn transient_failure_is_followed_by_attempts() {
    let body = "if [ $n -lt 3 ]; then echo \"API Error: 529 Overloaded, $n\" >&2; exit 1; fi\necho '{\"n\": 1}'";
    let (home, thread) = failing("retry: { attempts: 3, wait: 20ms }", body);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!((ran.code, starts(&home, "worker")), (Some(0), 3), "{}", ran.transcript());
    let errors = errors(&home, &thread);
    assert_eq!(errors.len(), 2, "both failed attempts are kept: {errors:?}");
}

#[test]
fn wait_between_attempts_is_shown() {
    let body = "if [ $n -lt 2 ]; then echo 'API Error: 529 Overloaded' >&2; exit 1; fi\necho '{\"n\": 1}'";
    let (home, thread) = failing("retry: { attempts: 2, wait: 6s }", body);
    let mut step =
        home.command(&["thread", "step", &thread]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = Value::Null;
    until("the wait is shown", || {
        running = home.json(&["thread", "ps"])[0].clone();
        running["doing"].as_str().is_some_and(|doing| doing.starts_with("retries at "))
    });
    assert_eq!((&running["thread"], &running["pid"]), (&json!(thread), &Value::Null), "{running}");
    let shown = home.json(&["thread", "show", &thread]);
    let why = shown["why"].as_str().unwrap_or_default();
    assert_eq!(shown["state"], "running", "{shown:#}");
    assert!(why.contains("529 Overloaded") && why.contains("; retrying at "), "{shown:#}");
    assert!(shown["until"].is_u64(), "{shown:#}");
    let page = TestServer::start(&home, &[]).get(&format!("/threads/{thread}")).body;
    assert!(page.contains("; retrying at ") && !page.contains("has written nothing yet"), "{page}");
    assert!(step.wait().unwrap().success());
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "completed");
    assert_eq!(home.json(&["thread", "ps"]), json!([]));
}

#[test]
fn last_attempt_leaves_thread_stuck() {
    let (home, thread) = failing("retry: { attempts: 2, wait: 20ms }", "echo 'API Error: 503' >&2; exit 1");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!((ran.code, starts(&home, "worker")), (Some(40), 2), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!((&shown["state"], &shown["failure"]), (&json!("stuck"), &json!("transient")));
}

#[test]
fn only_listed_classes_are_followed_by_attempts() {
    for (on, message, starts_expected) in [
        ("[transient]", "no idea", 1),
        ("[unknown]", "no idea", 2),
        ("unknown", "no idea", 2),
        ("[transient, unknown]", "Invalid API key", 1),
        ("[fatal]", "Invalid API key", 2),
    ] {
        let settings = format!("retry: {{ attempts: 2, wait: 10ms, on: {on} }}");
        let (home, thread) = failing(&settings, &format!("echo '{message}' >&2; exit 1"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!((ran.code, starts(&home, "worker")), (Some(40), starts_expected), "{on}: {}", ran.transcript());
    }
}

#[test]
fn short_usage_limit_is_waited_for_within_step() {
    let body = "if [ $n -lt 2 ]; then echo 'Error: 429, retry in 1s' >&2; exit 1; fi\necho '{\"n\": 1}'";
    let (home, thread) = failing("retry: { wait: 10ms }", body);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!((ran.code, starts(&home, "worker")), (Some(0), 2), "{}", ran.transcript());
}

#[test]
fn fallback_plays_role_during_usage_limit() {
    let (home, thread) = failing("fallback: o", "echo 'usage limit, try again in 2 hours' >&2; exit 1");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let report = ran.json();
    assert_eq!((&report["alias"], &report["fallbackFor"]["agent"]), (&json!("o"), &json!("w")), "{report}");
    let prompt = fs::read_to_string(home.work().join("prompt-other")).unwrap();
    assert!(prompt.contains("You play this role instead of the agent `w`: it is at its usage limit until"), "{prompt}");
    assert!(prompt.contains("# An unfinished attempt"), "it was started: {prompt}");
    let errors = errors(&home, &thread);
    assert_eq!(errors.len(), 1, "the attempt of `w` is kept: {errors:?}");
    let second = home.start("count-rounds", "count");
    let planned = home.json(&["thread", "step", &second, "--dry-run"]);
    assert_eq!(planned["command"][0], "other", "{planned}");
    let prompt = text(&planned, "prompt");
    assert!(prompt.contains("instead of the agent `w`") && !prompt.contains("unfinished attempt"), "{planned}");
    let ran = home.uwf(&["run", &second]);
    assert_eq!((ran.code, starts(&home, "worker")), (Some(0), 1), "{}", ran.transcript());
    assert!(ran.stderr.contains("✓ worker by o instead of w"), "{}", ran.stderr);
    assert_eq!(starts(&home, "other"), 2);
}

#[test]
fn fallback_plays_role_after_last_attempt() {
    let (home, thread) =
        failing("retry: { attempts: 2, wait: 10ms }, fallback: o", "echo 'API Error: 529' >&2; exit 1");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!((ran.code, starts(&home, "worker"), starts(&home, "other")), (Some(0), 2, 1), "{}", ran.transcript());
    let prompt = fs::read_to_string(home.work().join("prompt-other")).unwrap();
    assert!(prompt.contains("instead of the agent `w`") && prompt.contains("API Error: 529"), "{prompt}");
}

#[test]
fn limit_of_fallback_hides_no_failure() {
    let (home, first) = failing("retry: { attempts: 2, wait: 10ms }, fallback: o", "echo 'API Error: 529' >&2; exit 1");
    home.script("other", "#!/bin/sh\ncat > /dev/null\necho 'usage limit, try again in 2 hours' >&2\nexit 1\n");
    let second = home.start("count-rounds", "count");
    for thread in [&first, &second] {
        let ran = home.uwf(&["run", thread, "--wait"]);
        assert_eq!(ran.code, Some(40), "`w` can be tried now: {}", ran.transcript());
        assert!(ran.stderr.contains("API Error: 529"), "{}", ran.stderr);
        assert_eq!(home.json(&["thread", "show", thread])["state"], "stuck");
    }
    assert_eq!(starts(&home, "worker"), 4);
}

#[test]
fn failure_that_is_not_retried_needs_no_fallback() {
    let (home, thread) = failing("fallback: o", "echo 'Invalid API key' >&2; exit 1");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!((ran.code, starts(&home, "other")), (Some(40), 0), "{}", ran.transcript());
}

#[test]
fn thread_waits_for_first_of_all_limits() {
    let (home, thread) = failing("fallback: o", "echo 'usage limit, try again in 2 hours' >&2; exit 1");
    home.script("other", "#!/bin/sh\necho 'usage limit, try again in 1 hour' >&2\nexit 1\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("agent `o` is at its usage limit until"), "{}", ran.stderr);
    let named = home.uwf(&["thread", "step", &thread, "--agent", "w"]);
    assert!(named.stderr.contains("agent `w` is at its usage limit until"), "{}", named.stderr);
    assert_eq!((named.code, starts(&home, "worker")), (Some(30), 2), "a person named it");
}

#[test]
fn later_limit_of_fallback_delays_nothing() {
    let (home, thread) = failing("fallback: o", "echo 'usage limit, try again in 1 hour' >&2; exit 1");
    home.script("other", "#!/bin/sh\necho 'usage limit, try again in 5 hours' >&2\nexit 1\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert!(ran.stderr.contains("agent `w` is at its usage limit until"), "{}", ran.stderr);
    let (_, error) = ran.error().unwrap();
    let until = error["error"]["until"].as_u64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert!(u128::from(until).abs_diff(now + 3_600_000) < 300_000, "the end of the first limit: {error}");
    for shown in [home.json(&["thread", "show", &thread]), home.json(&["thread", "list"])[0].clone()] {
        assert_eq!((&shown["state"], &shown["until"]), (&json!("limited"), &json!(until)), "{shown}");
    }
    let again = home.uwf(&["thread", "step", &thread]);
    assert_eq!(again.error().unwrap().1["error"]["until"], until, "{}", again.transcript());
}

#[test]
fn stopped_wait_leaves_failed_attempt() {
    let (home, thread) = failing("retry: { wait: 10m, on: unknown }", "echo 'no idea' >&2; exit 1");
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the step waits", || home.uwf(&["log", &thread]).stdout.contains("tries again at"));
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "running");
    home.uwf(&["thread", "kill", &thread]);
    assert!(!step.wait().unwrap().success());
    assert_eq!(starts(&home, "worker"), 1);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "killed");
}

#[test]
fn interrupted_wait_says_how_to_go_on() {
    let body = "if [ $n -lt 2 ]; then echo 'no idea' >&2; exit 1; fi\necho '{\"n\": 1}'";
    let (home, thread) = failing("retry: { wait: 10m, on: unknown }", body);
    let step =
        home.command(&["thread", "step", &thread]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    until("the step waits", || home.uwf(&["log", &thread]).stdout.contains("tries again at"));
    signal(step.id(), "INT");
    let ended = FinishedRun::from(step.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.transcript());
    assert!(ended.transcript().contains(&format!("uwf thread retry {thread}")), "{}", ended.transcript());
    assert_eq!(home.json(&["thread", "retry", &thread])["done"], true);
    assert_eq!(starts(&home, "worker"), 2);
}

#[test]
fn wrong_retries_and_fallbacks_are_reported() {
    let home = home();
    home.config(
        "\
agents:
  a: { command: sh, output: text, fallback: a }
  b: { command: sh, output: text, fallback: c }
  c: { command: sh, output: text, fallback: b }
  d: { command: sh, output: text, fallback: nobody }
  e: { command: sh, output: text, retry: { attempts: 0, on: [sometimes] } }
  f: { command: sh, output: text, retry: { wait: 1h, often: true } }
",
    );
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    let problems = ran.stdout.lines().filter(|line| line.contains("]: "));
    let problems: Vec<&str> = problems.filter_map(|line| Some(line.split_once("config.yaml:")?.1)).collect();
    assert_eq!(ran.code, Some(78));
    assert_snapshot!(problems.join("\n"), @"
    2:45: error[fallback-cycle]: agent `a` is its own fallback
    3:45: error[fallback-cycle]: the fallbacks of agent `b` lead back to it: b → c → b
    4:45: error[fallback-cycle]: the fallbacks of agent `c` lead back to it: c → b → c
    5:45: error[unknown-agent]: agent `nobody` is not in `agents`
    6:54: error[bad-value]: `agents.e.retry.attempts` is 0; it must be a whole number from 1 to 20
    6:62: error[bad-value]: `agents.e.retry.on` is `sometimes`; it can be transient, usage-limit, fatal, unknown
    7:50: error[bad-value]: `agents.f.retry.wait` is longer than 10 minutes
    7:54: warning[unknown-key]: the key `often` is not known here and is ignored
    ");
}
