//! Usage limits of agents: how their notices are recognized, and what starts before and after their ends.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::fixtures::answering::with_worker;
use crate::fixtures::group_in_repository::thread_of;
use crate::home;

/// Minutes by which the end of a limit may be off: a program names minutes or seconds, and the test takes time.
const TOLERANCE: u64 = 2;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A script that says what it does in `ledger`, then runs `body`.
fn script(body: &str) -> String {
    format!("#!/bin/sh\ncat > /dev/null\necho \"$UWF_ROLE\" >> ledger\n{body}\n")
}

/// How often agents were started.
fn starts(home: &TestHome) -> usize {
    fs::read_to_string(home.work().join("ledger")).map_or(0, |text| text.lines().count())
}

/// Minutes from now to a time of a report.
fn minutes_to(until: &Value) -> u64 {
    (until.as_u64().unwrap() / 1000).saturating_sub(now()) / 60
}

/// The last JSON value of a failed command.
fn report(ran: &FinishedRun) -> Value {
    serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap()
}

#[test]
fn silent_wait_for_a_logged_limit_is_limited() {
    let limit = r#"level=ERROR message="stream error" small=false error.error="AI_APICallError: You have reached your usage limit.""#;
    let title = limit.replace("small=false", "small=true");
    let work = r#"echo '{"type":"text"}'"#;
    for (log, trace, state) in [
        (format!("{work}; echo '{limit}' >&2; echo '{title}' >&2"), "opencode }, idleTimeout: 2s", "limited"),
        (format!("{work}; echo '{limit}' >&2"), "opencode }, timeout: 2s", "limited"),
        (format!("echo '{limit}' >&2; sleep 0.1; {work}"), "opencode }, idleTimeout: 2s", "stuck"),
        (format!("{work}; echo '{title}' >&2"), "opencode }, idleTimeout: 2s", "stuck"),
        (format!("echo '{limit}' >&2"), "codex }, idleTimeout: 2s", "stuck"),
    ] {
        let home = home();
        home.put("count-rounds", &counting_workflow(1));
        home.script("agent", &script(&format!("{log}; sleep 60")));
        home.config(&format!(
            "agents:\n  a: {{ command: agent, output: text, config: {{ trace: {trace} }}\ndefaultAgent: a\n"
        ));
        let thread = home.start("count-rounds", "count");
        let ran = home.uwf(&["thread", "step", &thread]);
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!(shown["state"], state, "{log}: {}", ran.transcript());
        assert_eq!(ran.code, Some(if state == "limited" { 30 } else { 40 }), "{}", ran.transcript());
        assert_eq!(ran.stderr.contains("waited for a usage limit to end"), state == "limited", "{}", ran.stderr);
    }
}

#[test]
fn notices_of_programs_limit_thread_until_their_time() {
    let unix = now() + 7200;
    let claude = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{unix},"rateLimitType":"five_hour"}}}}
{{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit · resets soon"}}"#
    );
    let opencode = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"Free usage exceeded","statusCode":429,"responseHeaders":{"retry-after":"7200"}}}}"#;
    let codex = r#"{"type":"turn.started"}
{"type":"turn.failed","error":{"message":"You've hit your usage limit. Upgrade to Pro, or try again in 2 hours 1 minute."}}"#;
    let gemini = r#"{"type":"result","status":"error","error":{"message":"You have exhausted your capacity on this model. Your quota will reset after 2h0m30s."},"stats":{}}"#;
    for (settings, output, printed, minutes) in [
        ("claude, as text", "text", format!("cat <<'E'\nClaude AI usage limit reached|{unix}\nE\nexit 1"), 120),
        ("claude, as an answer", "text", format!("cat <<'E'\nClaude AI usage limit reached|{unix}\nE"), 120),
        ("claude", "json, config: { trace: claude }", format!("cat <<'E'\n{claude}\nE\nexit 1"), 120),
        ("codex", "json, config: { trace: codex }", format!("cat <<'E'\n{codex}\nE\nexit 1"), 121),
        ("gemini", "json, config: { trace: gemini }", format!("cat <<'E'\n{gemini}\nE\nexit 1"), 120),
        ("opencode", "json, config: { trace: opencode }", format!("cat <<'E'\n{opencode}\nE\nexit 1"), 120),
        ("hermes", "text", "echo 'HTTP 429: rate limit exceeded, please retry in 120m' >&2; exit 1".to_owned(), 120),
        ("with a sign", "text", "echo 'weekly limit reached, try again in 120m…' >&2; exit 1".to_owned(), 120),
        ("without a time", "text", "echo 'Error: 429 Too Many Requests' >&2; exit 1".to_owned(), 15),
    ] {
        let (home, thread) = with_worker(1, &format!("output: {output}"), &script(&printed));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(30), "{settings}: {}", ran.transcript());
        let said = match settings {
            "without a time" => "is at its usage limit; no end time is given, so uwf tries again at ",
            _ => "is at its usage limit until ",
        };
        for ran in [&ran, &home.uwf(&["thread", "step", &thread])] {
            assert!(ran.stderr.contains(&format!("agent `w` {said}")), "{settings}: {}", ran.stderr);
        }
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!((&shown["state"], &shown["failure"]), (&json!("limited"), &json!("usage-limit")), "{settings}");
        let left = minutes_to(&shown["until"]);
        assert!(left.abs_diff(minutes) <= TOLERANCE, "{settings}: {left} minutes");
        assert!(shown["attempt"].is_string(), "{settings}: the attempt is kept");
        let again = home.uwf(&["thread", "step", &thread]);
        assert_eq!((again.code, starts(&home)), (Some(30), 1), "{settings}: {}", again.transcript());
        assert_eq!(report(&again)["error"]["until"], shown["until"], "{settings}");
        assert_eq!(home.json(&["thread", "list"])[0]["until"], shown["until"], "{settings}");
    }
}

#[test]
fn failure_without_limit_leaves_thread_stuck() {
    for (body, class) in [
        ("echo 'Credit balance is too low'; exit 1", "fatal"),
        ("echo 'API Error: 529 Overloaded'; exit 1", "transient"),
        ("echo 'no idea' >&2; exit 1", "unknown"),
    ] {
        let (home, thread) = with_worker(1, "output: text", &script(body));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{}", ran.transcript());
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!((&shown["state"], &shown["failure"]), (&json!("stuck"), &json!(class)), "{body}");
        assert!(shown.get("until").is_none());
    }
}

#[test]
fn notice_that_ends_with_sign_is_read() {
    let body = "echo 'weekly limit reached, resets Dec 1, 3pm…' >&2; exit 1";
    let (home, thread) = with_worker(1, "output: text", &script(body));
    for _ in 0..2 {
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!((ran.code, starts(&home)), (Some(30), 1), "{}", ran.transcript());
    }
}

#[test]
fn words_of_work_are_no_usage_limit() {
    for (alias, body) in [
        ("w", "echo 'test client::honours_rate_limit ... FAILED'; exit 1"),
        ("w", "echo 'the rate limit is tested'; echo '1 test failed'; exit 1"),
        ("w", "echo 'FAILED tests/test_rate_limit.py::test_x' >&2; exit 1"),
        ("w", "echo 'E  AssertionError: status 429 != 200' >&2; exit 1"),
        ("w", "echo 'E  AssertionError: status 429 != 200'; exit 1"),
        ("w", "echo 'FAILED: too many requests are let through by the limiter' >&2; exit 1"),
        ("rate_limit", "exit 1"),
        ("rate_limit", "sleep 30"),
    ] {
        let home = home();
        home.script("worker", &script(body));
        home.config(&format!(
            "agents:\n  {alias}: {{ command: worker, output: text, timeout: 1s }}\ndefaultAgent: {alias}\n"
        ));
        let thread = home.start_counting(1, "count");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(40), "{body}: {}", ran.transcript());
        assert_eq!(home.json(&["thread", "show", &thread])["failure"], "unknown", "{body}");
    }
}

#[test]
fn limit_belongs_to_program_not_to_name() {
    let home = home();
    home.put("count-rounds", &counting_workflow(1));
    let start = |name: &str, body: &str| {
        let dir = home.work().join(name);
        fs::create_dir(&dir).unwrap();
        home.file(&format!("{name}/agent.sh"), &script(body));
        let words = ["thread", "start", "count-rounds", "-p", "count", "--agent", "sh agent.sh", "--output", "json"];
        let started = home.command(&words).args(["--cwd", dir.to_str().unwrap()]).output().unwrap();
        text(&FinishedRun::from(started).json(), "thread")
    };
    let limited = start("one", "echo 'usage limit, try again in 2 hours' >&2; exit 1");
    let other = start("two", "echo '{\"n\": 1}'");
    assert_eq!(home.uwf(&["thread", "step", &limited]).code, Some(30));
    let ran = home.uwf(&["thread", "step", &other]);
    assert_eq!(ran.code, Some(0), "the same words are another script there: {}", ran.transcript());
    let ran = home.uwf(&["thread", "step", &limited]);
    assert!(ran.stderr.contains("is at its usage limit"), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(home.work().join("one/ledger")).unwrap().lines().count(), 1);
}

#[test]
fn limit_is_shared_by_aliases_of_one_program() {
    let home = home();
    home.script("claude", &script("echo 'usage limit, try again in 2 hours' >&2; exit 1"));
    home.config(
        "agents:\n  coder: { command: claude, args: [-p, --permission-mode, acceptEdits], output: text, timeout: 20m }\n  \
         reader: { command: claude, args: [-p], output: text, env: { THEME: dark } }\n  \
         large: { command: claude, args: [-p, --model, large], output: text }\ndefaultAgent: coder\n",
    );
    let first = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["thread", "step", &first]).code, Some(30));
    let start =
        |agent: &str| text(&home.json(&["thread", "start", "count-rounds", "-p", "x", "--agent", agent]), "thread");
    let ran = home.uwf(&["thread", "step", &start("reader")]);
    assert_eq!((ran.code, starts(&home)), (Some(30), 1), "the same account: {}", ran.transcript());
    let ran = home.uwf(&["thread", "step", &start("large")]);
    assert_eq!((ran.code, starts(&home)), (Some(30), 2), "another model may have another limit: {}", ran.transcript());
}

#[test]
fn unwritable_limit_stops_no_thread() {
    let (home, thread) = with_worker(1, "output: json", &script("echo 'usage limit' >&2; exit 1"));
    fs::write(home.root().join("limits"), "").unwrap();
    for started in 1..=2 {
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!((ran.code, starts(&home)), (Some(30), started), "{}", ran.transcript());
        assert!(home.json(&["thread", "show", &thread])["attempt"].is_string(), "the attempt is kept");
    }
    home.script("worker", &script("echo '{\"n\": 1}'"));
    assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(0));
}

#[test]
fn waiting_run_of_all_makes_no_further_steps() {
    let body = "if [ $(wc -l < ledger) != 2 ]; then echo '{\"n\": 1}'; else echo \"limit reached|$(($(date +%s) + 2))\"; exit 1; fi";
    let (home, thread) = with_worker(9, "output: json", &script(body));
    let ran = home.uwf(&["run", "--all", "--wait", "--steps", "3"]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 3, "{}", ran.transcript());
}

#[test]
fn limit_of_provider_ends_as_headers_say() {
    let format = ["-u", "-d", "+3 hours", "+%a, %d %b %Y %H:%M:%S GMT"];
    let date = FinishedRun::from(Command::new("date").env("LC_ALL", "C").args(format).output().unwrap()).stdout;
    for (header, value, minutes) in [
        ("retry-after", "3600", 60),
        ("retry-after", date.trim(), 180),
        ("x-ratelimit-reset-tokens", "1h30m0s", 90),
        ("x-other", "1", 15),
    ] {
        let limited = ScriptedAnswer::status(429, "slow down").header(header, value).repeated();
        let server = LlmServer::start([limited]);
        let home = home();
        home.config(&format!(
            "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
             agents:\n  l: {{ command: uwf-llm, model: m }}\ndefaultAgent: l\n",
            server.url()
        ));
        let thread = home.start_counting(1, "count");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(30), "{header}: {}", ran.transcript());
        let left = minutes_to(&report(&ran)["error"]["until"]);
        assert!(left.abs_diff(minutes) <= TOLERANCE, "{header}: {left} minutes");
        if header == "retry-after" {
            assert_eq!(server.asked().len(), 1, "a provider that asks for an hour is not asked again");
        }
    }
}

#[test]
fn no_thread_starts_agent_at_its_limit() {
    let (home, first) = with_worker(1, "output: json", &script("echo 'usage limit, try again in 3 hours' >&2; exit 1"));
    let second = home.start("count-rounds", "count");
    assert_eq!(home.uwf(&["thread", "step", &first]).code, Some(30));
    let ran = home.uwf(&["run", &second]);
    assert_eq!((ran.code, starts(&home)), (Some(30), 1), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "show", &second])["state"], "limited");
    home.script("worker", &script("echo '{\"n\": 1}'"));
    let by_another =
        home.uwf(&["thread", "step", &second, "--agent", "sh -c 'echo \"{\\\"n\\\": 1}\"'", "--output", "json"]);
    assert_eq!(by_another.code, Some(0), "another agent is at no limit: {}", by_another.transcript());
    let retried = home.uwf(&["thread", "retry", &first]);
    assert_eq!((retried.code, starts(&home)), (Some(0), 2), "a person tries now: {}", retried.transcript());
}

#[test]
fn run_with_wait_continues_after_limit() {
    let body = "if [ -e tried ]; then echo '{\"n\": 1}'; else touch tried; echo \"limit reached|$(($(date +%s) + 2))\"; exit 1; fi";
    let (home, thread) = with_worker(2, "output: json", &script(body));
    let ran = home.uwf(&["run", &thread, "--wait"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(ran.stderr.contains("waiting "), "{}", ran.stderr);
    assert_eq!(starts(&home), 3);
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 2);
}

#[test]
fn run_all_with_wait_runs_others_meanwhile() {
    let home = home();
    let limited = "if [ -e tried ]; then echo '{\"n\": 1}'; else touch tried; echo \"limit reached|$(($(date +%s) + 3))\"; exit 1; fi";
    home.script("limited", &script(&format!("echo limited >> order\n{limited}")));
    home.script("other", &script("echo other >> order\necho '{\"n\": 1}'"));
    home.config(
        "agents:\n  l: { command: limited, output: json }\n  o: { command: other, output: json }\ndefaultAgent: l\n",
    );
    home.put("count-rounds", &counting_workflow(1));
    let first = home.start("count-rounds", "count");
    let second = text(&home.json(&["thread", "start", "count-rounds", "-p", "count", "--agent", "o"]), "thread");
    let ran = home.uwf(&["run", "--all", "--wait"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let order = fs::read_to_string(home.work().join("order")).unwrap();
    assert_eq!(order, "limited\nother\nlimited\n", "one job, and nothing waits for a limit of another agent");
    for thread in [&first, &second] {
        assert_eq!(home.json(&["thread", "show", thread])["state"], "completed");
    }
}

#[test]
fn run_all_continues_threads_whose_limit_is_over() {
    let body = "if [ -e tried ]; then echo '{\"n\": 1}'; else touch tried; echo \"limit reached|$(($(date +%s) + 2))\"; exit 1; fi";
    let (home, thread) = with_worker(1, "output: json", &script(body));
    assert_eq!(home.uwf(&["run", "--all"]).code, Some(30));
    let until = home.json(&["thread", "show", &thread])["until"].as_u64().unwrap();
    let why = |report: &Value| report["why"].as_str().map(str::to_owned);
    let listed = home.json(&["thread", "list"])[0].clone();
    assert!(listed["state"] == "limited" && why(&listed).is_some(), "{listed}");
    uwf_testing::processes::until("the limit is over", || now() * 1000 > until);
    for report in [&home.json(&["thread", "show", &thread]), &home.json(&["thread", "list"])[0]] {
        assert_eq!((&report["state"], why(report)), (&json!("active"), None), "it can continue");
    }
    let ran = home.uwf(&["run", "--all"]);
    assert_eq!((ran.code, starts(&home)), (Some(0), 2), "{}", ran.transcript());
}

/// Three reviewers, one after the other; two of them share an agent.
const PANEL: &str = "name: panel
description: reviewers
roles:
  first: { goal: Review., meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  second: { goal: Review., meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  third: { goal: Review., meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  reviews: { play: [ first, second, third ], max: 1, mayFail: MAY_FAIL }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

/// A home with the panel. The agent of `first` and `second` reaches its limit, which ends in so many seconds.
fn panel(may_fail: &str, seconds: u64) -> TestHome {
    let home = home();
    let limited = format!(
        "if [ -e tried ]; then echo '{{\"ok\": true}}'; else touch tried; echo \"limit reached|$(($(date +%s) + {seconds}))\"; exit 1; fi"
    );
    home.script("limited", &script(&limited));
    home.script("other", &script("echo '{\"ok\": true}'"));
    home.config(
        "agents:\n  l: { command: limited, output: json }\n  o: { command: other, output: json }\ndefaultAgent: l\n\
         agentOverrides: { panel: { third: o } }\n",
    );
    home.put("panel", &PANEL.replace("MAY_FAIL", may_fail));
    home
}

#[test]
fn limit_of_branch_stops_only_its_agent() {
    for may_fail in ["false", "true"] {
        let home = panel(may_fail, 3600);
        let ran = home.uwf(&["run", "panel", "-p", "x"]);
        assert_eq!(ran.code, Some(30), "{may_fail}: {}", ran.transcript());
        let ledger = fs::read_to_string(home.work().join("ledger")).unwrap();
        assert_eq!(ledger, "first\nthird\n", "{may_fail}: `second` has the same agent as `first`");
        let thread = thread_of(&ran);
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!(shown["state"], "limited", "{may_fail}: no branch is given up: {shown}");
        assert!(minutes_to(&shown["until"]).abs_diff(60) <= TOLERANCE, "{shown}");
        let again = home.uwf(&["thread", "step", &thread]);
        assert_eq!((again.code, starts(&home)), (Some(30), 2), "{may_fail}: {}", again.transcript());
    }
}

#[test]
fn failed_branch_counts_before_limited_one() {
    let home = panel("false", 3600);
    home.script("other", &script("echo 'no idea' >&2; exit 1"));
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread_of(&ran)]);
    assert_eq!((&shown["state"], shown.get("until")), (&json!("stuck"), None), "{shown}");
}

#[test]
fn run_with_wait_continues_group_after_limit() {
    let home = panel("false", 3);
    let ran = home.uwf(&["run", "panel", "-p", "x", "--wait"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let mut roles: Vec<String> =
        fs::read_to_string(home.work().join("ledger")).unwrap().lines().map(str::to_owned).collect();
    roles.sort();
    assert_eq!(roles, ["first", "first", "second", "third"]);
}

#[test]
fn limit_of_child_thread_limits_parent() {
    let home = home();
    home.script("limited", &script("echo 'usage limit, try again in 1 hour' >&2; exit 1"));
    home.config(
        "agents:\n  l: { command: limited, output: json }\n  c: { command: uwf-workflow, args: [count-rounds] }\ndefaultAgent: l\n\
         agentOverrides: { outer: { worker: c } }\n",
    );
    home.put("count-rounds", &counting_workflow(1));
    home.put("outer", &counting_workflow(1).replace("count-rounds", "outer"));
    let thread = home.start("outer", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    let shown = home.json(&["thread", "show", &thread]);
    assert!(minutes_to(&shown["until"]).abs_diff(60) <= TOLERANCE, "{shown}");
}
