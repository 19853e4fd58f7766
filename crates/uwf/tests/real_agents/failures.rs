//! Real agents that fail: another attempt, and another agent.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{failed_attempts, text};

use super::claude::{self, with_claude};
use super::opencode::{self, with_opencode};
use super::{codex, detail, in_order, installed, outputs, seconds_from_now, start};

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

#[test]
fn failed_attempt_of_opencode_is_retried() {
    let body = json!({ "error": { "message": "The scripted model has a bad day." } }).to_string();
    let failed = ScriptedAnswer::raw(400, "application/json", body);
    let model = LlmServer::start(in_order([failed, ScriptedAnswer::text(RIGHT)]));
    let home = with_opencode(&model, opencode::PRINTING);
    home.json(&["config", "set", "agents.o.retry", "{ attempts: 2, wait: 1s, on: [unknown] }"]);
    let thread = start(&home, "count-rounds", "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let detail = detail(&home, &thread);
    assert_eq!((failed_attempts(&detail), outputs(&detail)), (1, vec![RIGHT]), "{detail:#}");
}

#[test]
fn claude_plays_for_codex_at_its_limit() {
    let error = json!({ "type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": seconds_from_now(7200) });
    let limited = LlmServer::start(vec![super::two_hours(&json!({ "error": error }))]);
    let model = LlmServer::start(in_order([ScriptedAnswer::text(RIGHT), ScriptedAnswer::text(RIGHT)]));
    let home = with_claude(&model, claude::PRINTING);
    symlink(installed("npm/node_modules/.bin/codex"), home.bin_dir().join("codex")).unwrap();
    let mut variables = fs::read_to_string(home.root().join(".env")).unwrap();
    variables.push_str(&codex::variables(&home, &limited));
    fs::write(home.root().join(".env"), variables).unwrap();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let config = config.replace("defaultAgent: c", "defaultAgent: x").replace("secrets: [", "secrets: [SCRIPTED_KEY, ");
    home.config(&config.replace("agents:\n", &format!("agents:\n  x: {{ {}, fallback: c }}\n", codex::PRINTING)));

    let thread = start(&home, "count-rounds", "count");
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!((&report["alias"], &report["fallbackFor"]["agent"]), (&json!("c"), &json!("x")), "{report}");
    assert_eq!(outputs(&detail(&home, &thread)), [RIGHT]);
    let prompt = model.asked().iter().map(|asked| asked.text.clone()).find(|text| text.contains("`x`"));
    assert!(prompt.is_some_and(|text| text.contains("usage limit")), "the prompt of the new session has the reason");
    let asked = limited.asked().len();
    let second = start(&home, "count-rounds", "count again");
    let report = home.json(&["thread", "step", &second]);
    assert_eq!(text(&report, "alias"), "c");
    assert_eq!(limited.asked().len(), asked, "codex is not started into its limit again");
}
