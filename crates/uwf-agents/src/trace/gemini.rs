//! Traces of `gemini --output-format stream-json`. They have only total tokens, not the tokens of turns.

use serde_json::Value;
use uwf_core::activity;
use uwf_core::node::TokenCounts;

use super::json::{content, count, shown, some_text, text};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, TraceEnding, timestamp};

/// Words in the error of a denied call.
const DENIALS: [&str; 2] =
    ["Tool execution denied by policy", "requires user confirmation, which is not supported in non-interactive mode"];

pub(super) fn is_event(event: &Value) -> bool {
    match text(event, "type") {
        "init" => event.get("session_id").is_some(),
        "message" => event.get("content").is_some() && matches!(text(event, "role"), "user" | "assistant"),
        "tool_use" => event.get("tool_name").is_some(),
        _ => false,
    }
}

/// Reads an event of a session.
pub(super) fn read_event(turns: &mut TraceTurnCollector, trace: &mut ParsedTrace, event: &Value) {
    let at = timestamp::ms(event.get("timestamp"));
    match text(event, "type") {
        "init" => {
            trace.session_id = some_text(event, "session_id");
            trace.model = some_text(event, "model");
            turns.close(at);
            trace.ending = TraceEnding::Unknown;
        }
        "message" if text(event, "role") == "user" => turns.asked(&content(event.get("content")), at),
        "message" if event.get("delta").and_then(Value::as_bool) == Some(true) => {
            turns.went_on(&content(event.get("content")), at);
        }
        "message" => turns.said(&content(event.get("content")), at),
        "tool_use" => {
            turns.called(text(event, "tool_id"), text(event, "tool_name"), &shown(event.get("parameters")), at);
        }
        "tool_result" => turns.returned(text(event, "tool_id"), &result(event), at),
        "error" => trace.ending = TraceEnding::failed(some_text(event, "message")),
        "result" => concluded(trace, event),
        _ => trace.unread += 1,
    }
}

fn result(event: &Value) -> String {
    match event.get("error") {
        Some(error) if text(event, "status") == "error" => {
            let said = some_text(error, "message").unwrap_or(error.to_string());
            let is_denied =
                text(error, "type") == "policy_violation" || DENIALS.iter().any(|words| said.contains(words));
            activity::call_result(said, is_denied)
        }
        _ => content(event.get("output")),
    }
}

fn concluded(trace: &mut ParsedTrace, event: &Value) {
    let stats = &event["stats"];
    trace.duration_ms = count(stats, "duration_ms");
    trace.model = only_model(stats).or(trace.model.take());
    trace.tokens = count(stats, "input_tokens").map(|input| TokenCounts {
        input: Some(input),
        output: count(stats, "output_tokens"),
        cached: count(stats, "cached"),
        ..TokenCounts::default()
    });
    match (text(event, "status"), event.get("error")) {
        ("error", Some(error)) => {
            trace.ending = TraceEnding::failed(some_text(error, "message").or_else(|| Some(error.to_string())));
        }
        // An error before a successful end was only a warning.
        (status, _) => trace.ending = TraceEnding::from_word(status),
    }
}

/// The model, if the session used only one. The first event may name a choice of models, such as `auto`.
fn only_model(stats: &Value) -> Option<String> {
    let models = stats.get("models")?.as_object()?;
    let mut used = models.iter().filter(|(_, counts)| count(counts, "total_tokens") != Some(0));
    match (used.next(), used.next()) {
        (Some((only, _)), None) => Some(only.clone()),
        _ => None,
    }
}
