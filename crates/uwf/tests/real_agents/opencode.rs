//! opencode 1.18.33, as a command whose stdout is a trace, and through ACP.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use super::{
    COUNTING, FIRST, SECOND, calls, detail, goes_on, in_order, outputs, reaches_limit, start, step_shows_command,
    submitting,
};

pub(super) const PRINTING: &str = "command: opencode, args: [run, --format, json, --print-logs, --log-level, ERROR, \"{prompt}\"], \
                                   output: text, config: { trace: opencode }";
pub(super) const THROUGH_ACP: &str = "command: uwf-acp, config: { preset: opencode }";
const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// A home with the real opencode that asks this model, and with this agent.
pub(super) fn with_opencode(model: &LlmServer, agent: &str) -> TestHome {
    let home = super::home(&[("opencode", "npm/node_modules/.bin/opencode")]);
    let dir = home.root().join("opencode");
    fs::create_dir(&dir).unwrap();
    let models = json!({ "scripted-model": { "name": "scripted", "limit": { "context": 100_000, "output": 8_000 } } });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": { "baseURL": model.url(), "apiKey": "sk-scripted" },
        "models": models,
    });
    let config = json!({
        "model": "scripted/scripted-model",
        "small_model": "scripted/scripted-model",
        "provider": { "scripted": provider },
        "permission": { "bash": "allow", "edit": "allow" },
        "autoupdate": false,
        "share": "disabled",
    });
    fs::write(dir.join("opencode.json"), config.to_string()).unwrap();
    let env = format!(
        "OPENCODE_CONFIG={dir}/opencode.json\nXDG_CONFIG_HOME={dir}/config\nXDG_DATA_HOME={dir}/data\n\
         XDG_STATE_HOME={dir}/state\nXDG_CACHE_HOME={dir}/cache\nOPENCODE_DISABLE_AUTOUPDATE=1\n\
         OPENCODE_DISABLE_MODELS_FETCH=1\n",
        dir = dir.display()
    );
    fs::write(home.root().join(".env"), env).unwrap();
    home.config(&format!("agents:\n  o: {{ {agent}, timeout: 3m }}\ndefaultAgent: o\n"));
    home.file("a.txt", "one line\n");
    home
}

#[test]
fn opencode_prints_a_trace_and_exports_the_same() {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.")
            .and_call("bash", json!({ "command": "wc -l < a.txt", "description": "count lines" })),
        ScriptedAnswer::text(RIGHT),
    ]));
    let home = with_opencode(&model, PRINTING);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let told = detail(&home, &thread);
    assert_eq!((&told["source"], &told["raw"]), (&json!("stdout"), &json!(RIGHT)));
    assert_eq!(outputs(&told), ["Counting.", RIGHT]);
    let calls = calls(&told);
    assert!(calls.len() == 1 && calls[0].contains("wc -l < a.txt") && calls[0].contains("-> 1"), "{calls:?}");
    for turn in told["turns"].as_array().unwrap() {
        assert_eq!((&turn["tokens"]["input"], &turn["tokens"]["output"]), (&json!(11), &json!(7)), "{turn}");
    }

    // What it exports of the same session is the same turns.
    home.script(
        "exporter",
        &format!(
            "#!/bin/sh\nset -eu\nopencode export {} > session.json 2> /dev/null\n\
             \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{{\"n\": 1}}' --trace session.json\n",
            told["sessionId"].as_str().unwrap()
        ),
    );
    home.config("agents:\n  e: { command: exporter, timeout: 3m }\ndefaultAgent: e\n");
    let thread = start(&home, "count-rounds", "export it");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let exported = detail(&home, &thread);
    assert_eq!((&exported["source"], &exported["sessionId"]), (&json!("export"), &told["sessionId"]));
    assert_eq!(outputs(&exported), ["Counting.", RIGHT]);
    assert_eq!(super::calls(&exported), calls);
}

#[test]
fn opencode_plays_roles_through_acp() {
    let model = LlmServer::start(submitting());
    let home = with_opencode(&model, THROUGH_ACP);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["extractedBy"]), (&json!("acp"), &json!("submit")));
    assert_eq!(detail["raw"], "Handed in.");
    let calls = calls(&detail);
    assert!(calls.len() == 2 && calls[0].contains("integer"), "{calls:?}");
    // Three calls of the model.
    assert_eq!(json!([detail["tokens"]["input"], detail["tokens"]["output"]]), json!([33, 21]));
}

#[test]
fn command_is_shown_through_acp() {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.")
            .and_call("bash", json!({ "command": COUNTING, "description": "count lines" })),
        ScriptedAnswer::text(RIGHT),
    ]));
    let home = with_opencode(&model, THROUGH_ACP);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    step_shows_command(&home, &thread);
    let detail = detail(&home, &thread);
    assert!(outputs(&detail).last().is_some_and(|said| said.ends_with(RIGHT)), "{detail:#}");
}

#[test]
fn session_continues_through_acp() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let second = goes_on(&with_opencode(&model, THROUGH_ACP), &model);
    assert_eq!(json!([second["tokens"]["input"], second["tokens"]["output"]]), json!([11, 7]), "of this visit");
}

/// The body of a provider's answer at a usage limit.
fn limit_body() -> String {
    json!({ "error": { "message": "You have reached your usage limit.", "type": "usage_limit_reached" } }).to_string()
}

#[test]
fn usage_limit_ends_as_provider_says() {
    let limited = ScriptedAnswer::raw(400, "application/json", limit_body()).header("retry-after", "7200");
    let model = LlmServer::start(vec![limited.repeated()]);
    reaches_limit(&with_opencode(&model, PRINTING), &model, 120);
}

/// With 429, opencode waits as long as the provider says and prints nothing meanwhile.
#[test]
fn opencode_itself_waits_after_429() {
    let limited = ScriptedAnswer::raw(429, "application/json", limit_body()).header("retry-after", "3");
    let model = LlmServer::start(in_order([limited, ScriptedAnswer::text(RIGHT)]));
    let home = with_opencode(&model, PRINTING);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    let begun = Instant::now();
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert!(begun.elapsed() >= Duration::from_secs(3), "it waited");
    assert_eq!(outputs(&detail(&home, &thread)), [RIGHT]);
}

/// The real program waits for two hours and ignores SIGTERM meanwhile. Its log has the limit.
#[test]
fn long_wait_after_429_is_usage_limit() {
    for agent in [PRINTING, THROUGH_ACP] {
        let model = LlmServer::start(vec![super::two_hours(
            &json!({ "error": { "message": "You have reached your usage limit." } }),
        )]);
        let home = with_opencode(&model, agent);
        home.json(&["config", "set", "agents.o.idleTimeout", "40s"]);
        home.json(&["config", "set", "killGrace", "2s"]);
        reaches_limit(&home, &model, super::UNKNOWN_LIMIT);
    }
}
