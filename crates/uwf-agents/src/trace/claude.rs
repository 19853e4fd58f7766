//! Traces of Claude Code: the events of `claude -p --output-format stream-json`, and session files. Both contain API messages. A message
//! comes as one event per block, all with the same id.

use std::collections::HashMap;

use agent_kit::AgentTurn;
use serde_json::Value;
use uwf_core::activity;
use uwf_core::failure_class::{FailureClass, FailureNotice};
use uwf_core::limit_end::LimitEnd;
use uwf_core::node::TokenCounts;
use uwf_core::number;

use super::json::{content, count, dollars, list, shown, some_text, text};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, TraceEnding, TraceEventReader, json, timestamp};

/// Beginnings of the error results of denied calls.
const DENIALS: [&str; 4] = [
    "Claude requested permissions to ",
    "This command requires approval",
    "Permission to use ",
    "The user doesn't want to proceed with this tool use",
];

/// The model of messages that Claude Code wrote itself.
const SYNTHETIC: &str = "<synthetic>";

pub(super) fn is_event(event: &Value) -> bool {
    let has_message = event.get("message").is_some_and(|message| !text(message, "role").is_empty());
    match text(event, "type") {
        "system" => text(event, "subtype") == "init",
        "assistant" | "user" => has_message,
        _ => false,
    }
}

/// Reads the events of a session.
#[derive(Default)]
pub(super) struct ClaudeEventReader {
    turns: TraceTurnCollector,
    session_id: Option<String>,
    /// The model of the newest message, or of the session before its first one.
    model: Option<String>,
    /// Id of the current message.
    message: String,
    usage: HashMap<String, TokenCounts>,
    result: Option<Value>,
    /// Whether nothing followed the result.
    is_over: bool,
    is_session_file: bool,
    ending: TraceEnding,
    notice: Option<FailureNotice>,
}

impl TraceEventReader for ClaudeEventReader {
    fn event(&mut self, event: &Value) {
        let at = timestamp::ms(event.get("timestamp"));
        self.is_session_file |= event.get("sessionId").is_some();
        if self.session_id.is_none() {
            self.session_id = some_text(event, "session_id").or_else(|| some_text(event, "sessionId"));
        }
        if is_of_a_helper(event) {
            return;
        }
        let body = &event["message"];
        self.model = model_of(event).or(self.model.take());
        match text(event, "type") {
            "assistant" => {
                let id = text(body, "id");
                if id.is_empty() || id != self.message {
                    self.turns.close(None);
                    id.clone_into(&mut self.message);
                }
                assistant(&mut self.turns, body, at);
                self.ending = ending_of(body);
                self.is_over = false;
                self.turns.counted(counted(&mut self.usage, id, body.get("usage")));
            }
            "user" => {
                user(&mut self.turns, body, at);
                self.ending = TraceEnding::Unknown;
            }
            "result" => {
                list(event, "permission_denials").iter().for_each(|call| self.turns.deny(text(call, "tool_use_id")));
                self.result = Some(event.clone());
                self.is_over = true;
            }
            "rate_limit_event" => self.notice = rejected(&event["rate_limit_info"]).or(self.notice.take()),
            _ => {}
        }
    }

    fn count(&self) -> usize {
        self.turns.count()
    }

    fn turn(&self, number: usize) -> Option<AgentTurn> {
        let mut turn = self.turns.turn(number)?;
        // Only the total shows whether it is the count of the whole message.
        turn.tokens.iter_mut().for_each(|tokens| tokens.output = None);
        Some(turn)
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn into_trace(self) -> ParsedTrace {
        let is_file = self.result.is_none() && self.is_session_file;
        let source = if is_file { "session-file" } else { "stdout" };
        let ClaudeEventReader { session_id, model, ending, notice, .. } = self;
        let trace =
            self.turns.into_trace(source, ParsedTrace { session_id, model, ending, notice, ..ParsedTrace::default() });
        let trace = match &self.result {
            Some(result) if self.is_over => concluded(trace, result),
            // A turn began after the totals.
            Some(result) => ParsedTrace { ending: trace.ending.clone(), ..concluded(trace, result) },
            None => trace,
        };
        if is_file { trace } else { without_first_counts(trace) }
    }
}

/// Removes output counts that are incomplete. An event has the message's count at its beginning, so a turn's output tokens are unknown.
/// Only if the counts add up to the total do they cover whole messages.
fn without_first_counts(mut trace: ParsedTrace) -> ParsedTrace {
    let written = |tokens: &Option<TokenCounts>| tokens.as_ref().and_then(|tokens| tokens.output);
    let sum =
        trace.turns.iter().map(|turn| written(&turn.tokens)).try_fold(0, |sum, more| Some(number::sum(sum, more?)));
    if sum.is_none() || sum != written(&trace.tokens) {
        trace.turns.iter_mut().filter_map(|turn| turn.tokens.as_mut()).for_each(|tokens| tokens.output = None);
    }
    trace
}

/// The ending of a message. A synthetic message is from Claude Code itself, because the API failed.
fn ending_of(message: &Value) -> TraceEnding {
    if text(message, "model") == SYNTHETIC {
        return TraceEnding::failed(Some(content(message.get("content"))).filter(|said| !said.is_empty()));
    }
    TraceEnding::from_word(text(message, "stop_reason"))
}

/// The model that an event names: the session's at its beginning, or the model of a message.
fn model_of(event: &Value) -> Option<String> {
    let named = match text(event, "type") {
        "system" => event,
        _ => &event["message"],
    };
    some_text(named, "model").filter(|model| model != SYNTHETIC)
}

/// Whether an event is from a sub-agent. The result of the tool that called the sub-agent covers it.
fn is_of_a_helper(event: &Value) -> bool {
    event.get("parent_tool_use_id").is_some_and(Value::is_string)
        || event.get("isSidechain").and_then(Value::as_bool) == Some(true)
}

fn assistant(turns: &mut TraceTurnCollector, message: &Value, at: Option<u64>) {
    if let Some(said) = message.get("content").and_then(Value::as_str) {
        return turns.said(said, at);
    }
    for block in list(message, "content") {
        match text(block, "type") {
            "text" => turns.said(text(block, "text"), at),
            "thinking" => turns.reasoned(text(block, "thinking"), at),
            "tool_use" => turns.called(text(block, "id"), text(block, "name"), &shown(block.get("input")), at),
            _ => {}
        }
    }
}

fn user(turns: &mut TraceTurnCollector, message: &Value, at: Option<u64>) {
    if let Some(text) = message.get("content").and_then(Value::as_str) {
        return turns.asked(text, at);
    }
    for block in list(message, "content") {
        match text(block, "type") {
            "tool_result" => turns.returned(text(block, "tool_use_id"), &result(block), at),
            "text" => turns.asked(text(block, "text"), at),
            _ => {}
        }
    }
}

/// The result of a tool. Only the final event lists the denied calls by id, but it may be missing.
fn result(block: &Value) -> String {
    let said = content(block.get("content"));
    let is_error = block.get("is_error").and_then(Value::as_bool) == Some(true);
    let is_denied = is_error && DENIALS.iter().any(|words| said.starts_with(words));
    activity::call_result(said, is_denied)
}

/// Tokens of a message. Its first events count fewer output tokens than its last.
fn counted(known: &mut HashMap<String, TokenCounts>, id: &str, usage: Option<&Value>) -> Option<TokenCounts> {
    let latest = tokens(usage?)?;
    let most = match known.remove(id) {
        Some(before) if before.output > latest.output => before,
        _ => latest,
    };
    known.insert(id.to_owned(), most.clone());
    Some(most)
}

/// The usage limit at which the account is. Claude Code also reports limits that are not reached, and those that extra usage continues.
fn rejected(info: &Value) -> Option<FailureNotice> {
    if text(info, "status") != "rejected" || info.get("isUsingOverage").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let end = timestamp::ms(info.get("resetsAt")).map(LimitEnd::At);
    Some(FailureNotice::new(FailureClass::UsageLimit, end))
}

/// Applies the final event: totals, and the answer if the messages have none.
fn concluded(trace: ParsedTrace, result: &Value) -> ParsedTrace {
    let ending = conclusion(trace.ending, result);
    let said = some_text(result, "result").filter(|_| ending == TraceEnding::Good);
    let cost = dollars(result, "total_cost_usd");
    let counts = result.get("usage").and_then(tokens);
    ParsedTrace {
        answer: trace.answer.or(said),
        tokens: counts.or(cost.map(|_| TokenCounts::default())).map(|tokens| TokenCounts { cost, ..tokens }),
        duration_ms: count(result, "duration_ms"),
        ending,
        ..trace
    }
}

/// The ending of the run, from its final event and its last message.
fn conclusion(message: TraceEnding, result: &Value) -> TraceEnding {
    let subtype = text(result, "subtype");
    let is_error = result.get("is_error").and_then(Value::as_bool);
    let errors = || Some(content(result.get("errors"))).filter(|errors| !errors.is_empty());
    match (subtype, is_error) {
        ("", None) => TraceEnding::Unknown,
        ("" | "success", None | Some(false)) => match (TraceEnding::from_word(text(result, "stop_reason")), message) {
            (bad @ TraceEnding::Bad(_), _) | (_, bad @ (TraceEnding::Bad(_) | TraceEnding::Failed(_))) => bad,
            _ => TraceEnding::Good,
        },
        _ => reason(subtype, some_text(result, "result").or_else(errors).or_else(|| message.words())),
    }
}

/// The reason of a failed run: its kind and its message.
fn reason(subtype: &str, said: Option<String>) -> TraceEnding {
    let kind = Some(subtype).filter(|kind| !matches!(*kind, "" | "success"));
    TraceEnding::failed(match (kind, said) {
        (Some(kind), Some(said)) if said != kind => Some(format!("{kind}: {said}")),
        (kind, said) => kind.map(str::to_owned).or(said),
    })
}

fn tokens(usage: &Value) -> Option<TokenCounts> {
    json::tokens(usage, ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"])
}
