//! uwf's own trace format, for agents without an importer. See `docs/reference/trace-format.md`.

use agent_kit::AgentTurn;
use agent_kit::answer::AgentToolCall;
use serde_json::Value;
use uwf_core::activity;
use uwf_core::node::TokenCounts;

use super::json::{count, dollars, list, shown, some_text, text};
use super::turns::clip;
use super::{MAX_CALLS_PER_TURN, MAX_TURNS, ParsedTrace, TraceEnding, TraceEventReader};

/// Default source of a trace.
const SOURCE: &str = "trace";

pub(super) fn is_event(event: &Value) -> bool {
    match text(event, "type") {
        "turn" => event.get("output").is_some(),
        "session" => true,
        _ => false,
    }
}

/// Reads the events of a session.
pub(super) struct JsonlEventReader(ParsedTrace);

impl Default for JsonlEventReader {
    fn default() -> JsonlEventReader {
        // A successful exit code means that the program is done; a `session` line can override it.
        let (source, ending) = (SOURCE.to_owned(), TraceEnding::Good);
        JsonlEventReader(ParsedTrace { source, ending, ..ParsedTrace::default() })
    }
}

impl TraceEventReader for JsonlEventReader {
    fn event(&mut self, event: &Value) {
        let trace = &mut self.0;
        match text(event, "type") {
            "turn" if trace.turns.len() < MAX_TURNS => {
                let calls = list(event, "toolCalls");
                trace.left_out += calls.len().saturating_sub(MAX_CALLS_PER_TURN);
                trace.turns.push(turn(event, calls));
            }
            "turn" => trace.left_out += 1,
            "session" => about(trace, event),
            _ => trace.unread += 1,
        }
    }

    fn count(&self) -> usize {
        self.0.turns.len()
    }

    fn turn(&self, number: usize) -> Option<AgentTurn> {
        self.0.turns.get(number).cloned()
    }

    fn into_trace(self) -> ParsedTrace {
        let mut trace = self.0;
        let last = trace.turns.last().filter(|turn| turn.tool_calls.is_empty() && !turn.output.trim().is_empty());
        trace.answer = last.map(|turn| turn.output.clone());
        let said = trace.turns.iter().rev().find(|turn| !turn.output.trim().is_empty());
        trace.last_said = said.map(|turn| turn.output.clone());
        trace
    }
}

fn about(trace: &mut ParsedTrace, event: &Value) {
    let field = |key| some_text(event, key);
    trace.session_id = field("sessionId").or(trace.session_id.take());
    if let Some(word) = field("stopReason") {
        trace.ending = TraceEnding::from_word(&word);
    }
    if let Some(error) = field("error") {
        trace.ending = TraceEnding::Failed(error);
    }
    if let Some(source) = field("source") {
        trace.source = source;
    }
    trace.duration_ms = count(event, "durationMs").or(trace.duration_ms);
    trace.tokens = tokens(event).or(trace.tokens.take());
}

fn turn(event: &Value, calls: &[Value]) -> AgentTurn {
    let input = match event.get("input") {
        Some(Value::Array(texts)) => texts.iter().map(|text| clip(&shown(Some(text))).into()).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(one) => vec![clip(&shown(Some(one))).into()],
    };
    AgentTurn {
        input,
        output: clip(&shown(event.get("output"))),
        tool_calls: calls.iter().take(MAX_CALLS_PER_TURN).map(call).collect(),
        tokens: tokens(event),
        latency_ms: count(event, "latencyMs").unwrap_or(0),
    }
}

fn call(call: &Value) -> AgentToolCall {
    let result = shown(call.get("result"));
    let is_denied = call.get("denied").and_then(Value::as_bool) == Some(true);
    AgentToolCall {
        name: text(call, "name").to_owned(),
        arguments: clip(&shown(call.get("arguments"))),
        result: clip(&activity::call_result(result, is_denied)),
        duration_ms: count(call, "durationMs").unwrap_or(0),
    }
}

fn tokens(event: &Value) -> Option<TokenCounts> {
    let counts = event.get("tokens").filter(|tokens| tokens.is_object())?;
    let tokens = TokenCounts {
        input: count(counts, "input"),
        output: count(counts, "output"),
        cached: count(counts, "cached"),
        cache_write: count(counts, "cacheWrite"),
        reasoning: count(counts, "reasoning"),
        cost: dollars(counts, "cost"),
    };
    (tokens != TokenCounts::default()).then_some(tokens)
}
