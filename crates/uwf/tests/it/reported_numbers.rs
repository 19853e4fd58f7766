//! Numbers that agents report and people type: out of range, they are unknown or refused, and never make a thread unreadable.

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::answering::with_worker;
use crate::home;

/// A program that prints the events of Claude Code, with these numbers in the last one.
fn claude(result: &str, exit: u8) -> String {
    let said = r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"---\nn: 1\n---\nCounted."}]}}"#;
    format!("#!/bin/sh\ncat > /dev/null\ncat <<'EOF'\n{said}\n{result}\nEOF\nexit {exit}\n")
}

/// Every command that reads what a thread used.
fn reads_usage(home: &TestHome, thread: &str) {
    for args in [
        &["thread", "limit", thread][..],
        &["thread", "cost", thread],
        &["thread", "steps", thread],
        &["thread", "read", thread],
        &["thread", "eval", thread, "$usage"],
        &["otel", "export", thread, "--print"],
        &["workflow", "show", "count-rounds"],
    ] {
        let ran = home.uwf(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.transcript());
    }
}

#[test]
fn tokens_out_of_range_are_unknown() {
    for usage in [
        r#""input_tokens":9223372036854775808,"output_tokens":7"#,
        r#""input_tokens":18446744073709551615,"output_tokens":18446744073709551615"#,
        r#""input_tokens":9007199254740992,"output_tokens":9007199254740992"#,
        r#""input_tokens":1e300,"output_tokens":-1"#,
    ] {
        let result = format!(
            r#"{{"type":"result","is_error":false,"duration_ms":18446744073709551615,"usage":{{{usage}}},"total_cost_usd":1e308}}"#
        );
        let (home, thread) = with_worker(4, "output: text, config: { trace: claude }", &claude(&result, 0));
        home.json(&["thread", "limit", &thread, "--tokens", "1000", "--cost", "5"]);
        for _ in 0..2 {
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(0), "{usage}: {}", ran.transcript());
        }
        let limits = home.json(&["thread", "limit", &thread]);
        assert_eq!((&limits["tokensUnknown"], &limits["costUnknown"]), (&json!(2), &json!(2)), "{usage}: {limits}");
        reads_usage(&home, &thread);
    }
}

#[test]
fn submitted_duration_out_of_range_is_clamped() {
    let script =
        "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --duration-ms 18446744073709551615\n";
    let (home, thread) = with_worker(4, "output: step", script);
    home.json(&["thread", "limit", &thread, "--tokens", "1000"]);
    for _ in 0..2 {
        home.json(&["thread", "step", &thread]);
    }
    assert_eq!(home.last_detail(&thread)["durationMs"], json!((1_u64 << 53) - 1));
    reads_usage(&home, &thread);
}

#[test]
fn limits_out_of_range_are_refused() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    for args in [
        ["thread", "limit", "@", "--tokens", "9007199254740992"],
        ["thread", "limit", "@", "--steps", "18446744073709551615"],
        ["thread", "limit", "@", "--time", "9007199254740992"],
        ["thread", "limit", "@", "--cost", "1e300"],
        ["run", "count-rounds", "-p", "count", "--max-tokens=9007199254740992"],
        ["run", "count-rounds", "-p", "count", "--max-cost=1e300"],
        ["run", "count-rounds", "-p", "count", "--max-time=9007199254740992"],
    ] {
        let ran = home.uwf(&args);
        assert_eq!(ran.code, Some(64), "{args:?}: {}", ran.transcript());
    }
    let most = (1_u64 << 53) - 1;
    home.json(&["thread", "limit", &thread, "--tokens", &most.to_string()]);
    let raised = home.json(&["thread", "limit", &thread, "--tokens", "+5"]);
    assert_eq!(raised["limits"]["maxTokens"], json!(most), "a sum stays in range");
    let limits = "limits: { maxTokens: 9007199254740992, maxSteps: 9007199254740992, maxCost: 1e300, maxTime: 9007199254740992 }\n";
    let file = home.file("w.yaml", &format!("{}{limits}", counting_workflow(1)));
    let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(65), "{}", ran.transcript());
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = told[0]["problems"].as_array().unwrap();
    let about = |key: &str| problems.iter().any(|problem| text(problem, "message").contains(&format!("`{key}` is")));
    assert!(["maxTokens", "maxSteps", "maxCost", "maxTime"].iter().all(|key| about(key)), "{told}");
    home.config("maxTokens: 9007199254740992\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(78));
}

/// What a thread used, as both commands show it: dollars, runs of unknown cost, tokens.
fn used(home: &TestHome, thread: &str) -> [Value; 5] {
    let limits = home.json(&["thread", "limit", thread]);
    let costs = home.json(&["thread", "cost", thread])["total"].clone();
    let dollars = costs["cost"].as_array().unwrap().first().map_or(json!(0.0), |cost| cost["amount"].clone());
    [
        limits["used"]["cost"].clone(),
        dollars,
        costs["costUnknown"].clone(),
        limits["costUnknown"].clone(),
        limits["used"]["tokens"].clone(),
    ]
}

const HALF_DOLLAR: &str = r#"{"type":"result","is_error":true,"result":"broke","usage":{"input_tokens":20,"output_tokens":7},"total_cost_usd":0.5}"#;

#[test]
fn failed_attempts_count_their_reported_usage() {
    let nothing_said = format!("#!/bin/sh\ncat > /dev/null\necho '{HALF_DOLLAR}'\nexit 1\n");
    let no_answer = claude(&HALF_DOLLAR.replace("true", "false"), 0).replace("n: 1", "status: done");
    for (script, code) in [(claude(HALF_DOLLAR, 1), 40), (nothing_said, 40), (no_answer, 41)] {
        let (home, thread) = with_worker(4, "output: text, config: { trace: claude }", &script);
        home.json(&["thread", "limit", &thread, "--cost", "1"]);
        for attempt in 1..=2 {
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(code), "{script}: {}", ran.transcript());
            let spent = 0.5 * f64::from(attempt);
            let known = [json!(spent), json!(spent), json!(0), json!(0), json!(27 * attempt)];
            assert_eq!(used(&home, &thread), known, "{script}");
        }
        assert_eq!(
            home.json(&["thread", "limit", &thread])["reached"],
            "the thread has cost $1.00; its limit is $1.00"
        );
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30), "{script}");

        // The step that succeeds takes the attempts over, and they count once.
        home.json(&["thread", "limit", &thread, "--cost", "+1"]);
        home.script("worker", &claude(&HALF_DOLLAR.replace("true", "false"), 0));
        home.json(&["thread", "step", &thread]);
        assert_eq!(used(&home, &thread), [json!(1.5), json!(1.5), json!(0), json!(0), json!(81)], "{script}");
    }
}

#[test]
fn killed_attempt_counts_known_cost() {
    let script = claude(HALF_DOLLAR, 0).replace("exit 0", "sleep 60");
    let (home, thread) = with_worker(4, "output: text, timeout: 2s, config: { trace: claude }", &script);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    assert_eq!(used(&home, &thread), [json!(0.5), json!(0.5), json!(0), json!(0), json!(27)]);
    home.json(&["thread", "kill", &thread]);
    assert_eq!(
        used(&home, &thread),
        [json!(0.5), json!(0.5), json!(0), json!(0), json!(27)],
        "also of an ended thread"
    );
}

/// A home whose agent reports half a dollar and writes no header, and a model that reads its answers and reports no money.
fn read_by_a_model(more: &str, limits: &[&str]) -> (TestHome, LlmServer, String) {
    let usage =
        ScriptedUsage { input: 1_000_000, output: 100_000, cached: None, cache_write: 0, reasoning: None, cost: None };
    let found = json!({ "found": true, "value": { "n": 1 } }).to_string();
    let server =
        LlmServer::start([ScriptedAnswer::text(&found).usage(usage), ScriptedAnswer::text(&found).usage(usage)]);
    let home = home();
    home.script("worker", &claude(&HALF_DOLLAR.replace("true", "false"), 0).replace("n: 1", "status: done"));
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  extract: {{ provider: p, name: scripted-model }}\n\
         agents:\n  w: {{ command: worker, output: text, config: {{ trace: claude }} }}\ndefaultAgent: w\n{more}",
        server.url()
    ));
    home.put("count-rounds", &counting_workflow(4));
    let thread = text(&home.json(&[&["thread", "start", "count-rounds", "-p", "x"], limits].concat()), "thread");
    (home, server, thread)
}

#[test]
fn an_unpriced_reading_leaves_the_answers_cost_known() {
    let (home, server, thread) = read_by_a_model("", &["--max-cost", "0.5"]);
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_detail(&thread)["extractedBy"], "llm");
    assert_eq!(used(&home, &thread), [json!(0.5), json!(0.5), json!(1), json!(1), json!(1_100_027)]);
    let report = home.json(&["thread", "cost", &thread, "--by", "model"]);
    let rows: Vec<Value> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            json!([row["name"], row["steps"], row["tokens"]["input"], row["cost"][0]["amount"], row["costUnknown"]])
        })
        .collect();
    assert_eq!(json!(rows), json!([["extract", 0, 1_000_000, null, 1], [null, 1, 20, 0.5, 0]]));
    assert_eq!(report["unpriced"], json!(["extract"]));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30), "the half dollar counts");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_priced_reading_counts_with_the_answer() {
    let prices = "prices: { date: 2026-11-01, models: { scripted-model: { input: 1, output: 5 } } }\n";
    let (home, _server, thread) = read_by_a_model(prices, &["--max-cost", "1.9"]);
    home.json(&["thread", "step", &thread]);
    let total = home.json(&["thread", "cost", &thread])["total"].take();
    let money = json!([
        { "currency": "USD", "amount": 0.5, "from": "provider" },
        { "currency": "USD", "amount": 1.5, "from": "prices" },
    ]);
    assert_eq!((&total["cost"], &total["costUnknown"], &total["steps"]), (&money, &json!(0), &json!(1)));
    let limits = home.json(&["thread", "limit", &thread]);
    assert_eq!((&limits["used"]["cost"], &limits["costUnknown"]), (&json!(2.0), &json!(0)));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
}

#[test]
fn extraction_cost_is_added_and_answer_counted_once() {
    let usage =
        ScriptedUsage { input: 900, output: 100, cached: None, cache_write: 0, reasoning: None, cost: Some(0.25) };
    let none = json!({ "found": false, "why": "it is not there" }).to_string();
    let found = json!({ "found": true, "value": { "n": 1 } }).to_string();
    let server = LlmServer::start([none, found].map(|said| ScriptedAnswer::text(&said).usage(usage)));
    let home = home();
    home.script("worker", &claude(&HALF_DOLLAR.replace("true", "false"), 0).replace("n: 1", "status: done"));
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  extract: {{ provider: p, name: scripted-model }}\n\
         agents:\n  w: {{ command: worker, output: text, config: {{ trace: claude }} }}\ndefaultAgent: w\n",
        server.url()
    ));
    let thread = home.start_counting(1, "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    assert_eq!(used(&home, &thread)[..3], [json!(0.75), json!(0.75), json!(0)]);
    home.json(&["thread", "step", &thread, "--reextract"]);
    assert_eq!(used(&home, &thread)[..3], [json!(1.0), json!(1.0), json!(0)]);
}

mod with_tools {
    use super::*;

    /// An agent that stores its session itself, with these numbers in it, and names the step.
    fn own_nodes(numbers: &str) -> String {
        format!(
            r#"#!/usr/bin/env python3
import json, os, subprocess, sys

uwf, thread, role = os.environ["UWF_BIN"], sys.argv[1], sys.argv[2]
# Outside the attempt, `submit` only stores the step.
alone = {{name: value for name, value in os.environ.items() if name != "UWF_ATTEMPT"}}
run = lambda *args: subprocess.check_output([uwf, *args], text=True, env=alone)
first = run("agent", "submit", thread, role, "--data", '{{"n": 1}}', "--format", "text").strip()
get = lambda node: json.loads(run("cas", "get", node, "--format", "json"))
put = lambda kind, value: json.loads(run("cas", "put", kind, json.dumps(value), "--format", "json"))["hash"]
step = get(first)
session = get(step["payload"]["detail"])
session["payload"].update({numbers})
step["payload"]["detail"] = put(session["type"], session["payload"])
print(put(step["type"], step["payload"]))
"#
        )
    }

    #[test]
    fn node_with_numbers_out_of_range_is_readable() {
        // Nodes like these were stored by earlier versions, and an agent can store them itself.
        for numbers in [
            r#"{"tokens": {"input": 2**63, "output": 1, "cached": 1e300}, "totalTokens": 2**63 + 1}"#,
            r#"{"tokens": {"input": 1, "output": 2**64 - 1, "cost": 1e308}, "durationMs": 2**64 - 1}"#,
            r#"{"durationMs": 1e300, "totalTokens": 2**53}"#,
        ] {
            let (home, thread) = with_worker(4, "output: step", &own_nodes(numbers));
            home.json(&["thread", "limit", &thread, "--tokens", "1000", "--cost", "5"]);
            for _ in 0..2 {
                let ran = home.uwf(&["thread", "step", &thread]);
                assert_eq!(ran.code, Some(0), "{numbers}: {}", ran.transcript());
            }
            reads_usage(&home, &thread);
            assert_eq!(home.json(&["thread", "repair", &thread])["steps"], json!([]), "there is nothing to repair");
        }
    }
}
