//! What opencode writes: the events of `opencode run --format json`, one step per response of the model, and
//! `opencode export`, the same as messages with parts.

use serde_json::Value;
use uwf_core::node::Tokens;

use super::json::{count, list, shown, some_text, text};
use super::turns::Turns;
use super::{Trace, timestamp};

const NO_VALUE: &Value = &Value::Null;

pub(super) fn is_event(event: &Value) -> bool {
    let is_step = event.get("sessionID").is_some()
        && matches!(text(event, "type"), "step_start" | "step_finish" | "text" | "tool_use" | "reasoning");
    is_step || is_export(event)
}

fn is_export(object: &Value) -> bool {
    object.get("info").is_some() && list(object, "messages").iter().any(|message| message.get("parts").is_some())
}

pub(super) fn read(events: &[Value]) -> Trace {
    match events.iter().find(|event| is_export(event)) {
        Some(export) => read_export(export),
        None => read_stream(events),
    }
}

fn read_stream(events: &[Value]) -> Trace {
    let mut turns = Turns::default();
    let mut trace = Trace::default();
    let mut sum = None;
    for event in events {
        if trace.session_id.is_none() {
            trace.session_id = some_text(event, "sessionID");
        }
        let at = timestamp::ms(event.get("timestamp"));
        let part = event.get("part").unwrap_or(event);
        match text(event, "type") {
            "error" => trace.error = error(event.get("error").unwrap_or(event)),
            kind => {
                if !apply(&mut turns, &mut sum, kind, part, at) {
                    trace.unread += 1;
                }
            }
        }
    }
    Trace {
        session_id: trace.session_id,
        error: trace.error,
        tokens: sum,
        unread: trace.unread,
        ..turns.into_trace("stdout")
    }
}

fn read_export(export: &Value) -> Trace {
    let mut turns = Turns::default();
    let mut sum = None;
    let mut unread = 0;
    for message in list(export, "messages") {
        let info = message.get("info").unwrap_or(NO_VALUE);
        let at = timestamp::ms(info.get("time").and_then(|time| time.get("created")));
        for part in list(message, "parts") {
            if text(info, "role") == "user" {
                turns.told(text(part, "text"), at);
            } else if !apply(&mut turns, &mut sum, &text(part, "type").replace('-', "_"), part, None) {
                unread += 1;
            }
        }
        if text(info, "role") == "assistant" {
            let done = timestamp::ms(info.get("time").and_then(|time| time.get("completed")));
            turns.close(done);
        }
    }
    let id = some_text(export.get("info").unwrap_or(NO_VALUE), "id");
    Trace { session_id: id, tokens: sum, unread, ..turns.into_trace("export") }
}

/// One part of a message. `false` when it is none that is known.
fn apply(turns: &mut Turns, sum: &mut Option<Tokens>, kind: &str, part: &Value, at: Option<u64>) -> bool {
    let time = part.get("time").unwrap_or(NO_VALUE);
    let at = timestamp::ms(time.get("end")).or(at);
    match kind {
        "step_start" => turns.close(at),
        "text" => turns.said(text(part, "text"), at),
        "reasoning" => turns.reasoned(text(part, "text"), at),
        "tool_use" | "tool" => tool(turns, part),
        "step_finish" => {
            let told = tokens(part);
            turns.counted(told.clone());
            turns.close(at);
            *sum = match (sum.take(), told) {
                (Some(a), Some(b)) => Some(add(&a, &b)),
                (a, b) => a.or(b),
            };
        }
        "snapshot" | "patch" | "file" | "agent" | "compaction" | "retry" | "subtask" => {}
        _ => return false,
    }
    true
}

/// A call with its result. What the model says after it may still belong to the same step, so it closes nothing.
fn tool(turns: &mut Turns, part: &Value) {
    let state = part.get("state").unwrap_or(NO_VALUE);
    let time = state.get("time").unwrap_or(NO_VALUE);
    let (begun, ended) = (timestamp::ms(time.get("start")), timestamp::ms(time.get("end")));
    let id = text(part, "callID");
    if !turns.has_call(id) {
        turns.called(id, text(part, "tool"), &shown(state.get("input")), begun);
    }
    let result = match some_text(state, "error") {
        Some(error) => error,
        None => shown(state.get("output")),
    };
    let took = begun.zip(ended).map_or(0, |(begun, ended)| ended.saturating_sub(begun));
    turns.returned_within(id, &result, took);
}

/// Tokens of a step. Opencode counts the cache apart from the other input. Newer versions count reasoning apart from the
/// other output; they also tell the total, which shows it.
fn tokens(part: &Value) -> Option<Tokens> {
    let told = part.get("tokens")?;
    let cache = told.get("cache").unwrap_or(NO_VALUE);
    let read = count(cache, "read");
    let input =
        count(told, "input")?.saturating_add(read.unwrap_or(0)).saturating_add(count(cache, "write").unwrap_or(0));
    let all_output = count(told, "total").and_then(|total| total.checked_sub(input));
    Some(Tokens {
        input: Some(input),
        output: all_output.or_else(|| count(told, "output")),
        cached: read,
        reasoning: count(told, "reasoning"),
        cost: part.get("cost").and_then(Value::as_f64),
    })
}

fn add(a: &Tokens, b: &Tokens) -> Tokens {
    let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Tokens {
        input: both(a.input, b.input),
        output: both(a.output, b.output),
        cached: both(a.cached, b.cached),
        reasoning: both(a.reasoning, b.reasoning),
        cost: a.cost.zip(b.cost).map(|(a, b)| a + b),
    }
}

fn error(error: &Value) -> Option<String> {
    let data = error.get("data").unwrap_or(error);
    some_text(data, "message").or_else(|| some_text(error, "message")).or_else(|| some_text(error, "name"))
}
