//! Traces of opencode: the events of `opencode run --format json`, one step per response of the model, and `opencode export`, the same as
//! messages with parts.

use std::time::SystemTime;

use serde_json::Value;
use uwf_core::activity;
use uwf_core::failure_class::FailureNotice;
use uwf_core::node::TokenCounts;
use uwf_core::number;

use super::json::{count, dollars, list, shown, some_text, text};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, PrintedEventReader, TraceEnding, read_events, timestamp};

/// Beginnings of the errors of denied calls. `opencode run` itself rejects each call that needs approval.
const DENIALS: [&str; 3] = [
    "The user rejected permission",
    "The user has specified a rule which prevents you from using this specific tool call",
    "Permission denied by ruleset",
];

pub(super) fn is_event(event: &Value) -> bool {
    let is_step = event.get("sessionID").is_some()
        && matches!(text(event, "type"), "step_start" | "step_finish" | "text" | "tool_use" | "reasoning");
    is_step || is_export(event)
}

fn is_export(object: &Value) -> bool {
    object.get("info").is_some() && list(object, "messages").iter().any(|message| message.get("parts").is_some())
}

pub(super) fn read(events: &[Value]) -> ParsedTrace {
    match events.iter().find(|event| is_export(event)) {
        Some(export) => read_export(export),
        None => read_events(PrintedEventReader::new(read_event), events),
    }
}

/// Reads an event of a run.
pub(super) fn read_event(turns: &mut TraceTurnCollector, trace: &mut ParsedTrace, event: &Value) {
    trace.session_id = trace.session_id.take().or_else(|| some_text(event, "sessionID"));
    let at = timestamp::ms(event.get("timestamp"));
    let part = event.get("part").unwrap_or(event);
    match text(event, "type") {
        "error" => {
            let failure = event.get("error").unwrap_or(event);
            trace.ending = TraceEnding::failed(error(failure));
            trace.notice = rejected(failure);
        }
        kind => apply(turns, trace, kind, part, at),
    }
}

fn read_export(export: &Value) -> ParsedTrace {
    let mut turns = TraceTurnCollector::default();
    let mut trace = ParsedTrace { session_id: some_text(&export["info"], "id"), ..ParsedTrace::default() };
    for message in list(export, "messages") {
        let info = &message["info"];
        let at = timestamp::ms(info["time"].get("created"));
        for part in list(message, "parts") {
            if text(info, "role") == "user" {
                turns.asked(text(part, "text"), at);
            } else {
                apply(&mut turns, &mut trace, &text(part, "type").replace('-', "_"), part, None);
            }
        }
        if text(info, "role") == "assistant" {
            turns.close(timestamp::ms(info["time"].get("completed")));
            if let Some(failure) = info.get("error").filter(|failure| failure.is_object()) {
                trace.ending = TraceEnding::failed(error(failure));
                trace.notice = rejected(failure);
            }
        }
    }
    turns.into_trace("export", trace)
}

/// The tokens of the model calls of an exported session that began at a time or later, Unix milliseconds; `None` if no call has counts.
pub(crate) fn tokens_since(export: &Value, since_ms: u64) -> Option<TokenCounts> {
    let calls = list(export, "messages").iter().map(|message| &message["info"]);
    let calls = calls.filter(|info| text(info, "role") == "assistant");
    let since = calls.filter(|info| timestamp::ms(info["time"].get("created")).is_some_and(|at| at >= since_ms));
    since.filter_map(tokens).reduce(|sum, call| sum.plus(&call))
}

/// Applies one part of a message.
fn apply(turns: &mut TraceTurnCollector, trace: &mut ParsedTrace, kind: &str, part: &Value, at: Option<u64>) {
    let at = timestamp::ms(part["time"].get("end")).or(at);
    match kind {
        "step_start" => {
            turns.close(at);
            trace.ending = TraceEnding::Unknown;
        }
        "text" => turns.said(text(part, "text"), at),
        "reasoning" => turns.reasoned(text(part, "text"), at),
        "tool_use" | "tool" => tool(turns, part),
        "step_finish" => {
            trace.ending = TraceEnding::from_word(text(part, "reason"));
            let of_step = tokens(part);
            turns.counted(of_step.clone());
            turns.close(at);
            trace.tokens = match (trace.tokens.take(), of_step) {
                (Some(before), Some(of_step)) => Some(before.plus(&of_step)),
                (before, of_step) => before.or(of_step),
            };
        }
        "snapshot" | "patch" | "file" | "agent" | "compaction" | "retry" | "subtask" => {}
        _ => trace.unread += 1,
    }
}

/// A call with its result. It closes nothing: the model's next text may still belong to the same step.
fn tool(turns: &mut TraceTurnCollector, part: &Value) {
    let (state, time) = (&part["state"], &part["state"]["time"]);
    let (begun, ended) = (timestamp::ms(time.get("start")), timestamp::ms(time.get("end")));
    let id = text(part, "callID");
    if !turns.has_call(id) {
        turns.called(id, text(part, "tool"), &shown(state.get("input")), begun);
    }
    let result = match some_text(state, "error") {
        Some(error) => {
            let is_denied = DENIALS.iter().any(|words| error.starts_with(words));
            activity::call_result(error, is_denied)
        }
        None => shown(state.get("output")),
    };
    let took = begun.zip(ended).map_or(0, |(begun, ended)| ended.saturating_sub(begun));
    turns.returned_within(id, &result, took);
}

/// Tokens of a step. Opencode counts the cache separately from other input. Newer versions also count reasoning separately from other
/// output, which their total shows.
fn tokens(part: &Value) -> Option<TokenCounts> {
    let counts = part.get("tokens")?;
    let cache = &counts["cache"];
    let read = count(cache, "read");
    let cached = number::sum(read.unwrap_or(0), count(cache, "write").unwrap_or(0));
    let input = number::sum(count(counts, "input")?, cached);
    let all_output = count(counts, "total").and_then(|total| total.checked_sub(input));
    Some(TokenCounts {
        input: Some(input),
        output: all_output.or_else(|| count(counts, "output")),
        cached: read,
        cache_write: count(cache, "write"),
        reasoning: count(counts, "reasoning"),
        // It reports 0 for a model whose price it does not know.
        cost: dollars(part, "cost").filter(|cost| *cost > 0.0),
    })
}

fn error(error: &Value) -> Option<String> {
    let data = error.get("data").unwrap_or(error);
    some_text(data, "message").or_else(|| some_text(error, "message")).or_else(|| some_text(error, "name"))
}

/// The failure as the response of the provider describes it: by its status, its headers, its body.
fn rejected(error: &Value) -> Option<FailureNotice> {
    let data = error.get("data").unwrap_or(error);
    let status = count(data, "statusCode").and_then(|code| u16::try_from(code).ok())?;
    let headers = || {
        let all = data["responseHeaders"].as_object().into_iter().flatten();
        all.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    };
    let retry_after = headers().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let retry_after = retry_after.and_then(|(_, value)| uwf_llm::retry::retry_after(value, SystemTime::now()));
    Some(FailureNotice::of_response(status, retry_after, headers(), text(data, "responseBody")))
}
