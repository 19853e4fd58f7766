//! Claude Code 2.1.197, as a command whose stdout is a trace, and through claude-agent-acp 0.49.0.

use std::fs;

use serde_json::json;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};
use uwf_testing::{TestHome, text};

use super::{
    COUNTING, FIRST, SECOND, begins_anew, calls, detail, goes_on, in_order, outputs, reaches_limit, start,
    step_shows_command, submitting, twice,
};

const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// A home with the real Claude Code that asks this model, and with this agent.
pub(super) fn with_claude(model: &LlmServer, agent: &str) -> TestHome {
    let home = super::home(&[
        ("claude", "npm/node_modules/.bin/claude"),
        ("claude-agent-acp", "npm/node_modules/.bin/claude-agent-acp"),
    ]);
    let dir = home.root().join("claude");
    fs::create_dir(&dir).unwrap();
    // As root it works without questions only where it is told that it is locked in.
    let env = format!(
        "CLAUDE_CONFIG_DIR={}\nANTHROPIC_BASE_URL={}\nANTHROPIC_API_KEY=sk-scripted-0123\nIS_SANDBOX=1\n\
         CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\nDISABLE_AUTOUPDATER=1\n",
        dir.display(),
        model.origin()
    );
    fs::write(home.root().join(".env"), env).unwrap();
    home.config(&format!(
        "agents:\n  c: {{ {agent}, env: [ANTHROPIC_API_KEY], timeout: 3m }}\ndefaultAgent: c\nsecrets: [ANTHROPIC_API_KEY]\n"
    ));
    home.file("a.txt", "one line\n");
    home
}

/// The model counts with a command, then answers.
fn counting(command: &str) -> LlmServer {
    LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.").and_call("Bash", json!({ "command": command, "description": "count lines" })),
        ScriptedAnswer::text(RIGHT),
    ]))
}

pub(super) const THROUGH_ACP: &str = "command: uwf-acp, config: { preset: claude }";
pub(super) const PRINTING: &str = "command: claude, args: [-p, --output-format, stream-json, --verbose, --model, scripted-model, \
                        --dangerously-skip-permissions], output: text, config: { trace: claude }";

#[test]
fn printed_trace_is_live_and_has_answer() {
    let model = counting(COUNTING);
    let home = with_claude(&model, PRINTING);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    step_shows_command(&home, &thread);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["raw"]), (&json!("stdout"), &json!(RIGHT)));
    assert_eq!(outputs(&detail), ["Counting.", RIGHT]);
    let calls = calls(&detail);
    assert!(calls.len() == 1 && calls[0].starts_with(&format!("Bash {{\"command\":\"{COUNTING}\"")), "{calls:?}");
    assert!(calls[0].ends_with("-> 1"), "{calls:?}");
    for turn in detail["turns"].as_array().unwrap() {
        // Its events tell what was written when a message began: that is no count.
        assert_eq!(turn["tokens"], json!({ "input": 11, "output": null }), "{turn}");
    }
    assert_eq!((&detail["tokens"]["input"], &detail["tokens"]["output"]), (&json!(22), &json!(14)));
}

#[test]
fn default_setup_prints_trace() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(RIGHT)]));
    let home = with_claude(&model, "command: nobody");
    let env = fs::read_to_string(home.root().join(".env")).unwrap();
    fs::write(home.root().join(".env"), format!("{env}ANTHROPIC_MODEL=scripted-model\n")).unwrap();
    home.config("secrets: [ANTHROPIC_API_KEY]\n");
    home.json(&["setup", "--agent", "claude"]);
    home.json(&["config", "set", "agents.claude.env", "[ANTHROPIC_API_KEY]"]);
    let thread = start(&home, "count-rounds", "count");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((outputs(&detail), &detail["raw"]), (vec![RIGHT], &json!(RIGHT)));
    assert!(detail["sessionId"].is_string() && detail["tokens"]["output"].as_u64().unwrap() > 0, "{detail}");
}

#[test]
fn session_file_can_be_imported() {
    let model = counting("wc -l < a.txt");
    let home = with_claude(&model, "command: counter");
    home.script(
        "counter",
        "#!/bin/sh\nset -eu\necho count | claude -p --model scripted-model --dangerously-skip-permissions >&2\n\
         file=$(find \"$CLAUDE_CONFIG_DIR/projects\" -name '*.jsonl')\n\
         \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --trace \"$file\"\n",
    );
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!(detail["source"], "session-file");
    assert_eq!(outputs(&detail), ["Counting.", RIGHT]);
    let calls = calls(&detail);
    assert!(calls.len() == 1 && calls[0].ends_with("-> 1"), "{calls:?}");
    assert_eq!(detail["turns"][0]["tokens"]["output"], 7, "{detail}");
    assert!(detail["turns"][1]["latencyMs"].as_u64().unwrap() > 0, "{detail}");
}

#[test]
fn submit_tool_is_passed_on_command_line() {
    let model = LlmServer::start(submitting());
    let home = with_claude(
        &model,
        &PRINTING
            .replace("--verbose,", "--verbose, --strict-mcp-config, --mcp-config, uwf-mcp.json,")
            .replace("trace: claude", "trace: claude, mcp: true"),
    );
    home.file("uwf-mcp.json", &documented_server());
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["extractedBy"], &detail["raw"]), (&json!("submit"), &json!("Handed in.")));
    let calls = calls(&detail);
    assert!(calls.len() == 2 && calls[0].contains("integer"), "the rejection says why: {calls:?}");
}

#[test]
fn claude_plays_roles_through_acp() {
    let model = LlmServer::start(submitting());
    let home = with_claude(&model, THROUGH_ACP);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["extractedBy"]), (&json!("acp"), &json!("submit")));
    assert_eq!(detail["raw"], "Handed in.");
    let calls = calls(&detail);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].contains("integer"), "{calls:?}");
    assert!(text(&detail, "sessionId").len() > 10);
}

/// The configuration that `docs/reference/configuration.md` shows: Claude Code fills in the variables.
fn documented_server() -> String {
    let page = fs::read_to_string(uwf_testing::repository().join("docs/reference/configuration.md")).unwrap();
    page.split("```json\n")
        .find(|block| block.starts_with("{\"mcpServers\""))
        .unwrap()
        .split("```")
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn later_step_continues_session() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    goes_on(&with_claude(&model, &PRINTING.replace("trace: claude", "trace: claude, resume: true")), &model);
}

#[test]
fn missing_session_starts_new_one() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_claude(&model, &PRINTING.replace("trace: claude", "trace: claude, resume: true"));
    let (first, second) = twice(&home, || fs::remove_dir_all(home.root().join("claude/projects")).unwrap());
    begins_anew(&model, &first, &second);
}

#[test]
fn session_continues_through_acp() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    goes_on(&with_claude(&model, THROUGH_ACP), &model);
}

#[test]
fn rejected_request_is_usage_limit() {
    let error = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow" } });
    let model = LlmServer::start(in_order([super::two_hours(&error)]));
    // With a key instead of a subscription, its trace does not say when the limit ends.
    reaches_limit(&with_claude(&model, PRINTING), &model, super::UNKNOWN_LIMIT);
}
