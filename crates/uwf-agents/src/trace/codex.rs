//! Traces of codex: the events of `codex exec --json`, and the rollout file of a session, which has more.

use serde_json::Value;
use uwf_core::activity;
use uwf_core::node::TokenCounts;

use super::json::{content, count, shown, some_text, text};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, PrintedEventReader, TraceEnding, read_events, timestamp};

/// Beginnings of the outputs of denied calls in a session file.
const DENIALS: [&str; 3] = ["exec command rejected by user", "patch rejected", "rejected: "];

/// Error of a call of an MCP tool that needed approval, which `codex exec` never gets.
const CANCELLED: &str = "user cancelled MCP tool call";

pub(super) fn is_event(event: &Value) -> bool {
    is_rollout(event) || matches!(text(event, "type"), "thread.started" | "turn.started" | "turn.completed")
}

fn is_rollout(event: &Value) -> bool {
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context"];
    kinds.contains(&text(event, "type")) && event.get("payload").is_some()
}

pub(super) fn read(events: &[Value]) -> ParsedTrace {
    if events.iter().any(is_rollout) {
        rollout(events)
    } else {
        read_events(PrintedEventReader::new(read_event), events)
    }
}

/// Reads an event of a run. The run has one usage, which counts from the thread's beginning, so it is the session's. The order of the
/// events shows which call belongs to which turn.
pub(super) fn read_event(turns: &mut TraceTurnCollector, trace: &mut ParsedTrace, event: &Value) {
    let item = &event["item"];
    match text(event, "type") {
        "thread.started" => trace.session_id = some_text(event, "thread_id"),
        "item.started" => item_started(turns, item),
        "item.completed" => item_completed(turns, item),
        "turn.completed" => {
            trace.tokens = event.get("usage").and_then(tokens).or(trace.tokens.take());
            // Earlier errors were retried.
            trace.ending = TraceEnding::Good;
        }
        "turn.failed" => trace.ending = TraceEnding::failed(some_text(&event["error"], "message")),
        "turn.aborted" => trace.ending = aborted(event),
        "error" => trace.ending = TraceEnding::failed(some_text(event, "message")),
        "turn.started" => trace.ending = TraceEnding::Unknown,
        "item.updated" => {}
        _ => trace.unread += 1,
    }
}

fn item_started(turns: &mut TraceTurnCollector, item: &Value) {
    if let Some((name, arguments)) = tool(item) {
        turns.called(text(item, "id"), &name, &arguments, None);
    }
}

fn item_completed(turns: &mut TraceTurnCollector, item: &Value) {
    let id = text(item, "id");
    match text(item, "type") {
        "agent_message" => turns.said(text(item, "text"), None),
        "reasoning" => turns.reasoned(text(item, "text"), None),
        _ => {
            // Some items are printed only once they are complete.
            let Some((name, arguments)) = tool(item) else { return };
            if !turns.has_call(id) {
                turns.called(id, &name, &arguments, None);
            }
            turns.returned(id, &result(item), None);
            if text(item, "status") == "declined" {
                turns.deny(id);
            }
        }
    }
}

/// Name and arguments of an item that is a tool call.
fn tool(item: &Value) -> Option<(String, String)> {
    Some(match text(item, "type") {
        "command_execution" => (activity::SHELL.to_owned(), text(item, "command").to_owned()),
        "mcp_tool_call" => (format!("{}.{}", text(item, "server"), text(item, "tool")), shown(item.get("arguments"))),
        "file_change" => ("apply_patch".to_owned(), shown(item.get("changes"))),
        "web_search" => ("web_search".to_owned(), text(item, "query").to_owned()),
        _ => return None,
    })
}

fn result(item: &Value) -> String {
    match text(item, "type") {
        "command_execution" => {
            let output = text(item, "aggregated_output");
            match item.get("exit_code").and_then(Value::as_i64) {
                None | Some(0) => output.to_owned(),
                Some(code) => format!("{output}\n[exit code {code}]"),
            }
        }
        "mcp_tool_call" => match (item.get("error"), item.get("result")) {
            (Some(error), _) if text(error, "message") == CANCELLED => activity::denied_result(CANCELLED),
            (Some(error), _) if !error.is_null() => shown(Some(error)),
            (_, Some(result)) if result.get("content").is_some() => content(result.get("content")),
            (_, result) => shown(result),
        },
        _ => text(item, "status").to_owned(),
    }
}

/// A turn ended by a person or a limit.
fn aborted(event: &Value) -> TraceEnding {
    let why = some_text(event, "reason").map(|why| format!(" ({why})")).unwrap_or_default();
    TraceEnding::Bad(format!("aborted its turn{why}"))
}

/// Parses a session file: every response item in order, tokens of every response, times.
fn rollout(events: &[Value]) -> ParsedTrace {
    let mut turns = TraceTurnCollector::default();
    let mut trace = ParsedTrace::default();
    // Newer versions have a record per response, before the answers of its tools; older ones only have an event after them.
    let has_records = events.iter().any(|event| text(event, "type") == "token_usage_record");
    let mut counts = CodexCounts::default();
    for event in events {
        counts.event(event);
        let at = timestamp::ms(event.get("timestamp"));
        let payload = &event["payload"];
        match (text(event, "type"), text(payload, "type")) {
            ("session_meta", _) => {
                trace.session_id = some_text(payload, "id").or_else(|| some_text(payload, "session_id"));
            }
            ("response_item", _) => response_item(&mut turns, payload, at),
            ("token_usage_record", _) => turns.counted(payload.get("usage").and_then(tokens)),
            ("event_msg", "token_count") if !has_records => {
                turns.counted(payload["info"].get("last_token_usage").and_then(tokens));
            }
            ("event_msg", "task_started" | "turn_started") => trace.ending = TraceEnding::Unknown,
            ("event_msg", "turn_aborted") => trace.ending = aborted(payload),
            ("event_msg", "task_complete" | "turn_complete") => {
                trace.ending = TraceEnding::Good;
                let so_far = trace.duration_ms;
                trace.duration_ms =
                    count(payload, "duration_ms").map(|ms| ms.saturating_add(so_far.unwrap_or(0))).or(so_far);
            }
            ("event_msg", "error") => trace.ending = TraceEnding::failed(some_text(payload, "message")),
            _ => {}
        }
    }
    turns.into_trace("session-file", ParsedTrace { model: counts.model, tokens: counts.total, ..trace })
}

/// The newest values in a session file.
#[derive(Debug, Default)]
pub(super) struct CodexCounts {
    pub(super) model: Option<String>,
    /// Tokens of the session so far.
    pub(super) total: Option<TokenCounts>,
    /// Whether the file has records, which count earlier than events.
    has_records: bool,
}

impl CodexCounts {
    /// Reads an event of a session file.
    pub(super) fn event(&mut self, event: &Value) {
        let payload = &event["payload"];
        match (text(event, "type"), text(payload, "type")) {
            ("turn_context", _) => self.model = some_text(payload, "model").or(self.model.take()),
            ("token_usage_record", _) => {
                self.has_records = true;
                self.total = payload.get("thread_token_usage").and_then(tokens).or(self.total.take());
            }
            ("event_msg", "token_count") if !self.has_records => {
                self.total = payload["info"].get("total_token_usage").and_then(tokens).or(self.total.take());
            }
            _ => {}
        }
    }
}

fn response_item(turns: &mut TraceTurnCollector, item: &Value, at: Option<u64>) {
    let call_id = text(item, "call_id");
    match text(item, "type") {
        "message" => {
            let said = content(item.get("content"));
            match text(item, "role") {
                "assistant" => turns.said(&said, at),
                _ => turns.asked(&said, at),
            }
        }
        "reasoning" => turns.reasoned(&content(item.get("summary")), at),
        "function_call" => turns.called(call_id, text(item, "name"), &shown(item.get("arguments")), at),
        "custom_tool_call" => turns.called(call_id, text(item, "name"), &shown(item.get("input")), at),
        "local_shell_call" => turns.called(call_id, activity::SHELL, &shown(item.get("action")), at),
        "web_search_call" => turns.called(text(item, "id"), "web_search", &shown(item.get("action")), at),
        "function_call_output" | "custom_tool_call_output" => {
            let output = item.get("output");
            let inner = output.and_then(|output| output.get("content")).or(output);
            let said = content(inner);
            let is_denied = said == CANCELLED || DENIALS.iter().any(|words| said.starts_with(words));
            turns.returned(call_id, &activity::call_result(said, is_denied), at);
        }
        _ => {}
    }
}

/// The counts of a usage object.
pub(super) fn tokens(usage: &Value) -> Option<TokenCounts> {
    Some(TokenCounts {
        input: Some(count(usage, "input_tokens")?),
        output: count(usage, "output_tokens"),
        cached: count(usage, "cached_input_tokens"),
        cache_write: None,
        reasoning: count(usage, "reasoning_output_tokens"),
        cost: None,
    })
}
