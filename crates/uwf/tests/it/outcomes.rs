//! What the end of a thread means: its outcome, and the exit codes that follow from it.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::mcp_client::Client;
use crate::home;

/// A reviewer who approves, gives up after three rejections, or falls through.
const REVIEW: &str = "name: review-code
description: review until it is approved
roles:
  reviewer:
    goal: You review.
    meta: { type: object, properties: { verdict: { enum: [approve, reject, unclear] } }, required: [verdict] }
conditions:
  approved: { expression: \"steps[-1].output.verdict = 'approve'\" }
  tired: { expression: \"$count(steps) >= 3\" }
  rejected: { expression: \"steps[-1].output.verdict = 'reject'\" }
graph:
  $START: [ { role: reviewer } ]
  reviewer:
    - { role: $END, condition: approved }
    - { role: $END, outcome: failed, condition: tired }
    - { role: reviewer, condition: rejected }
";

/// A home whose reviewer answers with these verdicts, one after the other.
fn reviewing(verdicts: &str) -> TestHome {
    let home = home();
    home.put("review-code", REVIEW);
    home.worker(
        "output: json",
        &format!(
            "#!/bin/sh\ncat > prompt\nn=$(($(cat count 2>/dev/null || echo 0) + 1))\necho $n > count\n\
             set -- {verdicts}\nshift $((n - 1))\necho \"{{\\\"verdict\\\": \\\"$1\\\"}}\"\n"
        ),
    );
    home
}

fn ended(home: &TestHome, thread: &str) -> Value {
    let shown = home.json(&["thread", "show", thread]);
    json!([shown["state"], shown["outcome"], shown["condition"]])
}

#[test]
fn failed_end_names_condition_and_exits_with_11() {
    let home = reviewing("reject reject reject");
    let ran = home.uwf(&["run", "review-code", "-p", "x"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json!([report["done"], report["outcome"], report["condition"]]), json!([true, "failed", "tired"]));
    let thread = text(&report, "thread");
    assert_eq!(ended(&home, &thread), json!(["completed", "failed", "tired"]));
    let end = text(&home.json(&["thread", "show", &thread]), "end");
    let node = home.json(&["cas", "get", &end])["payload"].take();
    assert_eq!(
        json!([node["outcome"], node["condition"], node["status"], node["returnCode"]]),
        json!(["failed", "tired", "completed", 11])
    );
    assert_eq!(home.uwf(&["run", &thread]).code, Some(11), "the run of an ended thread says the same");
    assert_eq!(home.uwf(&["thread", "live", &thread, "--exit-code"]).code, Some(11));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn last_step_exits_with_the_outcome() {
    let home = reviewing("reject reject reject");
    let thread = home.start("review-code", "x");
    for code in [0, 0] {
        assert_eq!(home.uwf(&["thread", "step", &thread, "--exit-code"]).code, Some(code));
    }
    let last = home.uwf(&["thread", "step", &thread]);
    assert_eq!(last.code, Some(11), "{}", last.transcript());
    let text = reviewing("reject reject reject");
    let ran = text.uwf(&["run", "review-code", "-p", "x", "--format", "text"]);
    assert!(ran.stdout.starts_with("failed (tired): thread "), "{}", ran.transcript());
}

#[test]
fn condition_is_known_without_outcomes() {
    let home = home();
    let plain = REVIEW.replace("    - { role: $END, outcome: failed, condition: tired }\n", "");
    home.put("review-code", &plain);
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"verdict\": \"approve\"}'\n");
    let ran = home.uwf(&["run", "review-code", "-p", "x", "--format", "text"]);
    assert!(ran.stdout.starts_with("done (approved): thread "), "{}", ran.transcript());
    let listed = || home.json(&["thread", "list", "--all"])[0].clone();
    let thread = text(&listed(), "thread");
    let seen = || {
        let again = home.uwf(&["run", &thread, "--format", "text"]);
        assert_eq!(again.stdout, ran.stdout, "one end, the same words");
        let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
        assert!(shown.contains("approved"), "{shown}");
        let read = home.uwf(&["thread", "read", &thread, "--format", "text"]).stdout;
        assert!(read.contains("the condition `approved` held"), "{read}");
        let live = home.uwf(&["thread", "live", &thread, "--format", "json"]).stdout;
        assert!(live.contains("\"condition\":\"approved\""), "{live}");
        let api = TestServer::start(&home, &[]).page(&format!("/api/threads/{thread}")).body;
        assert!(api.contains("approved"), "{api}");
    };
    seen();
    assert_eq!(listed()["condition"], "approved");
    let node = home.json(&["cas", "get", &text(&home.json(&["thread", "show", &thread]), "end")]);
    assert!(node["payload"].get("condition").is_none(), "nodes of such workflows stay as they were: {node}");

    // A line of an older version has no condition.
    let history = home.root().join("history.jsonl");
    let lines = fs::read_to_string(&history).unwrap();
    fs::write(&history, lines.replace(",\"condition\":\"approved\"", "")).unwrap();
    assert_ne!(fs::read_to_string(&history).unwrap(), lines);
    seen();
}

#[test]
fn succeeded_is_the_outcome_left_out() {
    let home = reviewing("reject approve");
    let ran = home.uwf(&["run", "review-code", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json!([report["outcome"], report["condition"]]), json!(["succeeded", "approved"]));
    assert_eq!(ended(&home, &text(&report, "thread")), json!(["completed", "succeeded", "approved"]));
    let named = REVIEW
        .replace("{ role: $END, condition: approved }", "{ role: $END, outcome: succeeded, condition: approved }");
    assert_eq!(home.put("review-code", &named), home.put("review-code", REVIEW));
}

#[test]
fn no_match_and_kill_are_not_success() {
    let home = reviewing("unclear");
    let ran = home.uwf(&["run", "review-code", "-p", "x"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        json!([report["outcome"], report["condition"], report["reason"]]),
        json!(["no-match", null, "no-match"])
    );

    let thread = home.start("review-code", "x");
    assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0));
    assert_eq!(ended(&home, &thread), json!(["killed", "killed", null]));
    assert_eq!(home.uwf(&["thread", "live", &thread, "--exit-code"]).code, Some(11));
}

#[test]
fn list_shows_and_filters_outcomes() {
    let home = reviewing("reject reject reject approve unclear");
    let run = || text(&serde_json::from_str(&home.uwf(&["run", "review-code", "-p", "x"]).stdout).unwrap(), "thread");
    let (failed, succeeded, unmatched) = (run(), run(), run());
    let killed = home.start("review-code", "x");
    home.json(&["thread", "kill", &killed]);
    let active = home.start("review-code", "x");
    let listed = |outcome: &str| {
        let rows = home.json(&["thread", "list", "--all", "--outcome", outcome]);
        rows.as_array().unwrap().iter().map(|row| text(row, "thread")).collect::<Vec<_>>()
    };
    assert_eq!(listed("failed"), vec![failed.clone()]);
    assert_eq!(listed("succeeded"), [succeeded]);
    assert_eq!(listed("no-match"), [unmatched]);
    assert_eq!(listed("killed"), [killed]);
    assert!(!listed("failed,no-match").contains(&active));
    assert_eq!(listed("failed,no-match").len(), 2);
    let table = home.uwf(&["thread", "list", "--all", "--format", "text"]).stdout;
    let line = table.lines().find(|line| line.contains(&failed[20..])).unwrap();
    assert!(line.contains("failed"), "{table}");
    let typo = home.uwf(&["thread", "list", "--all", "--outcome", "FAILED "]);
    assert_eq!(typo.code, Some(64), "{}", typo.transcript());
}

#[test]
fn worst_end_decides_exit_code_of_run_all() {
    let home = reviewing("approve reject reject reject");
    home.start("review-code", "one");
    home.start("review-code", "two");
    let ran = home.uwf(&["run", "--all", "--jobs", "1"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
}

#[test]
fn parent_routes_on_outcome_of_child() {
    let home = reviewing("reject reject reject");
    home.put(
        "ship-code",
        "name: ship-code
description: have it reviewed
roles:
  review: { goal: Have it reviewed. }
conditions:
  bad: { expression: \"$outcome(steps[-1]) = 'failed'\" }
graph:
  $START: [ { role: review } ]
  review:
    - { role: $END, outcome: rejected, condition: bad }
    - { role: $END }
",
    );
    home.config(
        "agents:\n  w: { command: worker, output: json }\n  team: { command: uwf-workflow, config: { workflow: review-code } }\n\
         defaultAgent: w\nagentOverrides: { ship-code: { review: team } }\n",
    );
    let ran = home.uwf(&["run", "ship-code", "-p", "x"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json!([report["outcome"], report["condition"]]), json!(["rejected", "bad"]));
}

#[test]
fn bad_outcomes_are_refused() {
    let home = home();
    for (outcome, why) in [
        ("killed", "`killed` is an outcome of uwf"),
        ("waiting", "`waiting` is a state of threads"),
        ("completed", "`completed` is a state of threads"),
        ("no-match", "`no-match` is an outcome of uwf"),
        ("'two words'", "an outcome is one word"),
        ("'11'", "an outcome begins with a letter, not `11`"),
        ("''", "an outcome is one word"),
    ] {
        let file = home.file("w.yaml", &REVIEW.replace("outcome: failed", &format!("outcome: {outcome}")));
        let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(65), "{}", refused.transcript());
        assert!(refused.stdout.contains(why), "{outcome}: {}", refused.transcript());
    }
    let misplaced = REVIEW.replace("{ role: reviewer, condition: rejected }", "{ role: reviewer, outcome: failed }");
    let file = home.file("w.yaml", &misplaced);
    let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(refused.code, Some(65), "{}", refused.transcript());
    assert!(refused.stdout.contains("only a transition to `$END` has an outcome"), "{}", refused.transcript());
}

#[test]
fn every_list_filters_by_outcome() {
    let home = reviewing("approve reject reject reject");
    let [passed, failed] = [0, 11].map(|code| {
        let ran = home.uwf(&["run", "review-code", "-p", "x"]);
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
        text(&serde_json::from_str(&ran.stdout).unwrap(), "thread")
    });
    let server = TestServer::start(&home, &[]);
    let threads =
        |rows: Value| -> Vec<String> { rows.as_array().unwrap().iter().map(|row| text(row, "thread")).collect() };
    for (outcome, expected) in [
        ("failed", vec![&failed]),
        ("succeeded", vec![&passed]),
        ("failed,succeeded", vec![&failed, &passed]),
        ("killed", Vec::new()),
    ] {
        let expected: Vec<String> = expected.into_iter().cloned().collect();
        assert_eq!(threads(home.json(&["thread", "list", "--outcome", outcome])), expected, "{outcome}");
        assert_eq!(threads(server.get(&format!("/api/threads?outcome={outcome}")).json()), expected, "{outcome}");
        let page = server.page(&format!("/?outcome={outcome}")).body;
        for thread in [&passed, &failed] {
            assert_eq!(
                page.contains(&format!("data-row=\"{thread}\"")),
                expected.contains(thread),
                "{outcome}: {page}"
            );
        }
    }
    let refused = server.get("/api/threads?outcome=not%20a%20word");
    assert_eq!(refused.status, 400, "{}", refused.body);
    let mut client = Client::start(&home, &["mcp"]);
    assert_eq!(threads(client.report("list", json!({ "outcome": "failed" }))), [failed]);
}

#[test]
fn unknown_query_parameters_are_refused() {
    let home = home();
    let thread = home.start_counting(1, "count");
    let server = TestServer::start(&home, &["--gateway"]);
    for (path, hint) in [
        ("/threads?bogus=1", "its parameters: state, outcome, workflow, role, label, q, limit, after"),
        ("/threads?state=stuck&outcomes=failed", "did you mean `outcome`?"),
        (&format!("/threads/{thread}?limit=1"), ""),
        (&format!("/threads/{thread}/events?tail=1&x=%20"), "its parameters: tail, debug"),
        ("/cost?role=x", "its parameters: since, by, until, timeZone"),
        ("/workflows?q=x", ""),
        ("/gateway/threads?state=stuck", ""),
        ("/openapi.json?v=1", ""),
    ] {
        let refused = server.get(&format!("/api{path}"));
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        let error = refused.json()["error"].take();
        assert!(error["message"].as_str().unwrap().contains("has no parameter `"), "{path}: {error}");
        let hints = if hint.is_empty() { json!([]) } else { json!([hint]) };
        assert_eq!(error["hints"], hints, "{path}");
        assert_eq!(
            home.uwf(&["api", "GET", path]).code,
            Some(if path.starts_with("/gateway") { 69 } else { 64 }),
            "{path}"
        );
    }
    assert_eq!(server.get("/api/threads?state=active&limit=5").status, 200);
}
