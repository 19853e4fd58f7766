//! Traces of `cursor-agent -p --output-format stream-json`: messages like Claude Code's, and separate events for tool calls.

use serde_json::Value;
use uwf_core::activity;

use super::json::{content, count, shown, some_text, text, tokens};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, TraceEnding, timestamp};

pub(super) fn is_event(event: &Value) -> bool {
    text(event, "type") == "tool_call" && event.get("tool_call").is_some()
}

/// Reads an event of a session.
pub(super) fn read_event(turns: &mut TraceTurnCollector, trace: &mut ParsedTrace, event: &Value) {
    let at = timestamp::ms(event.get("timestamp_ms"));
    trace.session_id = trace.session_id.take().or_else(|| some_text(event, "session_id"));
    let said = || content(event["message"].get("content"));
    match (text(event, "type"), text(event, "subtype")) {
        ("user", _) => turns.asked(&said(), at),
        ("assistant", _) => {
            turns.said(&said(), at);
            trace.ending = TraceEnding::Unknown;
        }
        ("tool_call", "started") => started(turns, event, at),
        ("tool_call", "completed") => completed(turns, event, at),
        ("result", _) => concluded(trace, event),
        ("error", _) => trace.ending = TraceEnding::failed(some_text(event, "message")),
        ("system", "init") => trace.model = some_text(event, "model").or(trace.model.take()),
        ("system" | "thinking" | "interaction_query", _) => {}
        _ => trace.unread += 1,
    }
}

fn started(turns: &mut TraceTurnCollector, event: &Value, at: Option<u64>) {
    let (name, call) = tool(event);
    turns.called(text(event, "call_id"), &name, &shown(call.get("args").or_else(|| call.get("arguments"))), at);
}

fn completed(turns: &mut TraceTurnCollector, event: &Value, at: Option<u64>) {
    if !turns.has_call(text(event, "call_id")) {
        started(turns, event, at);
    }
    let (_, call) = tool(event);
    // A result is `{success: …}`, `{error: …}`, `{rejected: …}`: keep the word as well as its contents.
    let result = shown(call.get("result"));
    let is_denied = ["rejected", "permissionDenied"].iter().any(|word| call["result"].get(word).is_some());
    turns.returned(text(event, "call_id"), &activity::call_result(result, is_denied), at);
}

/// Name and data of the tool: `{"readToolCall": {args, result}}`, or `{"function": {name, arguments}}`.
fn tool(event: &Value) -> (String, &Value) {
    let call = event.get("tool_call").and_then(Value::as_object).and_then(|calls| calls.iter().next());
    match call {
        Some((key, call)) if key == "function" => (text(call, "name").to_owned(), call),
        Some((key, call)) => (key.strip_suffix("ToolCall").unwrap_or(key).to_owned(), call),
        None => (String::new(), &Value::Null),
    }
}

fn concluded(trace: &mut ParsedTrace, event: &Value) {
    trace.duration_ms = count(event, "duration_ms");
    let said = some_text(event, "result");
    let subtype = text(event, "subtype");
    let before = std::mem::take(&mut trace.ending);
    trace.ending = match (subtype, event.get("is_error").and_then(Value::as_bool)) {
        ("", None) => TraceEnding::Unknown,
        ("" | "success", None | Some(false)) => TraceEnding::Good,
        _ => TraceEnding::failed(said.clone().or_else(|| some_text(event, "subtype")).or_else(|| before.words())),
    };
    // The result contains all text from the beginning. It is the answer only if no final message was read.
    trace.answer = said.filter(|_| trace.ending == TraceEnding::Good);
    trace.tokens = tokens(&event["usage"], ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"]);
}
