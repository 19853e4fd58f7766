//! gemini-cli 0.61.0, as a command whose stdout is a trace, and through ACP.

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use super::{
    COUNTING, FIRST, SECOND, begins_anew, calls, detail, in_order, outputs, prices_apply, reaches_limit, start,
    step_shows_command, submitting, twice, went_on,
};

pub(super) const THROUGH_ACP: &str = "command: uwf-acp, args: [-m, gemini-2.5-flash], config: { preset: gemini }";
pub(super) const PRINTING: &str = "command: gemini, args: [--yolo, -m, gemini-2.5-flash, --output-format, stream-json], \
                                   output: text, config: { trace: gemini }";
const RIGHT: &str = "---\nn: 1\n---\nOne line.";

/// A home with the real gemini that asks this model, and with this agent.
pub(super) fn with_gemini(model: &LlmServer, agent: &str) -> TestHome {
    let home = super::home(&[("gemini", "npm/node_modules/.bin/gemini")]);
    let dir = home.root().join("gemini");
    fs::create_dir_all(dir.join(".gemini")).unwrap();
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true },
        "tools": { "useRipgrep": false },
    });
    fs::write(dir.join(".gemini/settings.json"), settings.to_string()).unwrap();
    let env = format!(
        "GEMINI_CLI_HOME={}\nGOOGLE_GEMINI_BASE_URL={}\nGEMINI_API_KEY=sk-scripted-0123\nGEMINI_CLI_TRUST_WORKSPACE=true\n",
        dir.display(),
        model.origin()
    );
    fs::write(home.root().join(".env"), env).unwrap();
    home.config(&format!(
        "agents:\n  g: {{ {agent}, env: [GEMINI_API_KEY], timeout: 3m }}\ndefaultAgent: g\nsecrets: [GEMINI_API_KEY]\n"
    ));
    home.file("a.txt", "one line\n");
    home
}

#[test]
fn printed_trace_answers_with_final_message() {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.").and_call("run_shell_command", json!({ "command": "wc -l < a.txt" })),
        ScriptedAnswer::text(RIGHT),
    ]));
    let home = with_gemini(&model, PRINTING);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["raw"]), (&json!("stdout"), &json!(RIGHT)));
    assert_eq!(outputs(&detail), ["Counting.", RIGHT]);
    let calls = calls(&detail);
    assert!(calls.len() == 1 && calls[0].starts_with("run_shell_command {\"command\":\"wc -l < a.txt\"}"), "{calls:?}");
    assert!(calls[0].contains('1'), "{calls:?}");
    assert_eq!((&detail["tokens"]["input"], &detail["tokens"]["output"]), (&json!(22), &json!(14)));
    prices_apply(&home, &thread, "gemini-2.5-flash");
}

#[test]
fn gemini_plays_roles_through_acp() {
    let model = LlmServer::start(submitting());
    let home = with_gemini(&model, THROUGH_ACP);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let detail = detail(&home, &thread);
    assert_eq!((&detail["source"], &detail["extractedBy"]), (&json!("acp"), &json!("submit")));
    assert_eq!(detail["raw"], "Handed in.");
    let calls = calls(&detail);
    assert_eq!(calls.len(), 2, "{calls:?}");
    // Three calls of the model.
    assert_eq!(json!([detail["tokens"]["input"], detail["tokens"]["output"]]), json!([33, 21]));
    prices_apply(&home, &thread, "gemini-2.5-flash");
}

/// Steps a thread whose agent counts with a command, and sees the command while it runs.
fn shows_command(agent: &str) {
    let model = LlmServer::start(in_order([
        ScriptedAnswer::text("Counting.").and_call("run_shell_command", json!({ "command": COUNTING })),
        ScriptedAnswer::text(RIGHT),
    ]));
    let home = with_gemini(&model, agent);
    let thread = start(&home, "count-rounds", "count the lines of a.txt");
    step_shows_command(&home, &thread);
    let detail = detail(&home, &thread);
    assert!(outputs(&detail).last().is_some_and(|said| said.ends_with(RIGHT)), "{detail:#}");
}

#[test]
fn command_is_shown_through_acp() {
    shows_command(THROUGH_ACP);
}

#[test]
fn command_is_shown_from_printed_trace() {
    shows_command(PRINTING);
}

/// A session's file is named after the minute it was opened in.
#[test]
fn session_continues_in_later_minute() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_gemini(&model, THROUGH_ACP);
    let (first, second) = twice(&home, next_minute);
    went_on(&model, &first, &second);
    assert_eq!(json!([second["tokens"]["input"], second["tokens"]["output"]]), json!([11, 7]), "of this visit");
}

/// In the minute a session was opened in, loading it overwrites its file and fails: the role gets the whole prompt.
#[test]
fn same_minute_starts_new_session() {
    let model = LlmServer::start(in_order([ScriptedAnswer::text(FIRST), ScriptedAnswer::text(SECOND)]));
    let home = with_gemini(&model, THROUGH_ACP);
    if seconds_left() < 40 {
        next_minute();
    }
    let (first, second) = twice(&home, || {});
    begins_anew(&model, &first, &second);
}

/// How many seconds of this minute are left.
fn seconds_left() -> u64 {
    60 - SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() % 60
}

/// Waits for the next minute.
pub(super) fn next_minute() {
    thread::sleep(Duration::from_secs(seconds_left()));
}

#[test]
fn used_up_quota_is_usage_limit() {
    let error = json!({
        "code": 429,
        "message": "You have exhausted your capacity on this model. Your quota will reset after 2h0m0s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [ { "quotaId": "GenerateRequestsPerDayPerProjectPerModel" } ] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7200s" },
        ],
    });
    let model = LlmServer::start(vec![super::two_hours(&json!({ "error": error }))]);
    let agent = "command: gemini, args: [--yolo, -m, gemini-2.5-flash, --output-format, stream-json], output: text, config: { trace: gemini }";
    // Its trace says only that the quota of the day is used up.
    reaches_limit(&with_gemini(&model, agent), &model, super::UNKNOWN_LIMIT);
}
