//! How far a thread may go: options of `thread start`, `thread limit`, real agents at a limit, and `$usage` in conditions. What
//! counts for a limit is tested in `crates/uwf-engine/tests/it/limit.rs`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

/// A model of which each answer costs half a dollar and 1,000 tokens.
fn costly(answers: usize) -> LlmServer {
    let usage =
        ScriptedUsage { input: 900, output: 100, cached: None, cache_write: 0, reasoning: None, cost: Some(0.5) };
    LlmServer::start(vec![ScriptedAnswer::text("---\nn: 1\n---\nCounted.\n").usage(usage); answers])
}

/// A home whose agent is that model.
fn with_model(server: &LlmServer) -> TestHome {
    let home = home();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  l: {{ command: uwf-llm, model: m }}\ndefaultAgent: l\nextract: {{ llm: 0 }}\n",
        server.url()
    ));
    home
}

fn start(home: &TestHome, more: &[&str]) -> String {
    let args = ["thread", "start", "count-rounds", "-p", "count"];
    text(&home.json(&[&args[..], more].concat()), "thread")
}

/// What `thread limit` prints, without the time: that is another at each run.
fn limits_told(home: &TestHome, args: &[&str]) -> String {
    let told = home.transcript(&[&["thread", "limit", "--format", "text"], args].concat());
    told.lines().filter(|line| !line.starts_with("time")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_thread_stops_at_its_cost_until_raised() {
    let server = costly(4);
    let home = with_model(&server);
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-cost", "1", "--max-tokens", "3000", "--max-time", "1h"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(30), "{ran:?}");
    assert_eq!(server.asked().len(), 2, "no model is paid beyond the limit");
    assert_snapshot!(home.transcript(&["thread", "step", &thread]), @r"
    exit 30
    --- stderr
    error: the thread has cost $1.00; its limit is $1.00
    hint: to continue: `uwf thread limit <id> --cost +1`
    ");
    assert_snapshot!(limits_told(&home, &[&thread, "--cost", "+0.5"]), @r"
    exit 0
    thread <id> is active
            used   limit
    steps   2      1,000
    tokens  2,000  3,000
    cost    $1.00  $1.50
    ");
    let more = ["--cost", "10", "--tokens", "+2000", "--time", "+2h", "--steps", "60"];
    let limits = home.json(&[&["thread", "limit", &thread], &more[..]].concat());
    assert_eq!(limits["limits"], json!({ "maxSteps": 60, "maxTime": 10_800, "maxTokens": 5000, "maxCost": 10.0 }));
    assert_eq!(home.json(&["run", &thread])["done"], true);
}

#[test]
fn a_time_limit_ends_no_running_step() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\nsleep 3\necho '{\"n\": 1}'\n");
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-time", "3s"]);
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(30), "the next one does not begin: {ran:?}");
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
}

#[test]
fn failed_answers_of_a_model_count() {
    let usage =
        ScriptedUsage { input: 900, output: 100, cached: None, cache_write: 0, reasoning: None, cost: Some(0.5) };
    let server = LlmServer::start(
        ["I will not say.", "Not now either.", "Never."].map(|text| ScriptedAnswer::text(text).usage(usage)),
    );
    let home = with_model(&server);
    home.put("count-rounds", &counting_workflow(4));
    let thread = start(&home, &["--max-cost", "0.5"]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    let asked = server.asked().len();
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn a_condition_sees_what_was_used() {
    let server = costly(6);
    let home = with_model(&server);
    let workflow = counting_workflow(9).replace(
        "expression: \"$count(steps) >= 9\"",
        "expression: \"$usage.cost >= 1 and $usage.roles.worker.tokens >= 2000 and $usage.steps = 2\"",
    );
    assert!(workflow.contains("$usage"), "{workflow}");
    home.put("count-rounds", &workflow);
    let thread = start(&home, &[]);
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_eq!(server.asked().len(), 2);
    assert_eq!(home.json(&["thread", "eval", &thread, "$usage.roles.worker.cost"]), 1);
}

#[test]
fn limits_that_are_none_are_refused() {
    let home = home();
    for [option, limit, hint] in [
        ["--cost", "0", "above 0"],
        ["--cost", "+x", "above 0"],
        ["--cost", "-5", "above 0"],
        ["--cost", "inf", "above 0"],
        ["--steps", "0", "above 0"],
        ["--steps", "+", "above 0"],
        ["--steps", "-5", "above 0"],
        ["--time", "0.1", "90s"],
        ["--time", "-5", "90s"],
        ["--tokens", "1.5", "above 0"],
        ["--tokens", "-5", "above 0"],
    ] {
        let ran = home.uwf(&["thread", "limit", "@", option, limit]);
        assert!(ran.code == Some(64) && ran.stderr.contains(hint), "{option} {limit}: {}", ran.transcript());
    }
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["run", &thread, "--max-cost", "2"]).code, Some(64), "that is for `thread limit` to say");
    let file =
        home.file("w.yaml", &format!("{}limits: {{ maxCost: 0, maxTime: soon, most: 1 }}\n", counting_workflow(1)));
    let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(65));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems: Vec<&Value> =
        told[0]["problems"].as_array().unwrap().iter().map(|problem| &problem["message"]).collect();
    assert_eq!(
        json!(problems[2..]),
        json!([
            "`maxCost` is 0; it must be a number above 0 and at most 1000000000000",
            "`maxTime` is `soon`, which is not a duration",
            "the key `most` is not known here and is ignored",
        ])
    );
}

#[test]
fn unreported_usage_is_shown_as_unknown() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "count");
    home.json(&["thread", "step", &thread]);
    assert_snapshot!(limits_told(&home, &[&thread, "--cost", "1"]), @r"
    exit 0
    thread <id> is active
            used     limit
    steps   1        1,000
    tokens  unknown  –
    cost    unknown  $1.00
    the cost of 1 run is not known, so maxCost does not count it
    --- stderr
    warning: agent `w` reports neither tokens nor cost, so `maxCost` cannot stop it
    ");
    let used = home.json(&["thread", "limit", &thread])["used"].take();
    assert_eq!((&used["steps"], &used["tokens"], &used["cost"]), (&json!(1), &json!(null), &json!(null)), "{used}");
    home.json(&["thread", "step", &thread]);
    let told = limits_told(&home, &[&thread, "--tokens", "9"]);
    let notes = "the tokens of 2 runs are not known, so maxTokens does not count them\nthe cost of 2 runs is not known, so maxCost does not count it";
    assert!(told.contains(notes), "{told}");
    let told = limits_told(&home, &[&thread, "--steps", "1"]);
    assert!(told.contains("the thread has 2 steps; its limit is 1, so its next step will be refused"), "{told}");
}
