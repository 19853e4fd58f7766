//! Traces of hermes: a session as one object with its messages, either exported (`hermes sessions export`) or in its session file. They
//! have the time of each message, but only total tokens, not the tokens of turns.

use serde_json::Value;
use uwf_core::node::TokenCounts;

use super::json::{content, count, dollars, list, shown, some_text, text, tokens};
use super::turns::TraceTurnCollector;
use super::{ParsedTrace, TraceEnding, timestamp};

/// Source of such a trace.
const SOURCE: &str = "export";

pub(super) fn is_session(object: &Value) -> bool {
    let has_id = object.get("session_id").is_some() || object.get("id").is_some();
    has_id && list(object, "messages").iter().any(|message| !text(message, "role").is_empty())
}

pub(super) fn read(objects: &[Value]) -> ParsedTrace {
    let Some(session) = objects.iter().rev().find(|object| is_session(object)) else {
        return ParsedTrace { unread: objects.len(), source: SOURCE.to_owned(), ..ParsedTrace::default() };
    };
    let mut turns = TraceTurnCollector::default();
    let (mut unread, mut ending) = (0, TraceEnding::Unknown);
    for message in list(session, "messages") {
        let at = timestamp::ms(message.get("timestamp"));
        let said = content(message.get("content"));
        match text(message, "role") {
            "user" | "system" => turns.asked(&said, at),
            "tool" => turns.returned(text(message, "tool_call_id"), &said, at),
            "assistant" => {
                // Two model messages in a row are two turns.
                turns.close(None);
                // Each model message has a reason. If a turn breaks, hermes closes it with its own message, which has none.
                ending = TraceEnding::from_word(text(message, "finish_reason"));
                turns.reasoned(text(message, "reasoning"), at);
                turns.said(&said, at);
                for call in list(message, "tool_calls") {
                    let function = call.get("function").unwrap_or(call);
                    turns.called(text(call, "id"), text(function, "name"), &shown(function.get("arguments")), at);
                }
            }
            _ => unread += 1,
        }
    }
    let session_id = some_text(session, "id").or_else(|| some_text(session, "session_id"));
    turns.into_trace(
        SOURCE,
        ParsedTrace { tokens: totals(session), session_id, ending, unread, ..ParsedTrace::default() },
    )
}

/// Tokens of the whole session.
fn totals(session: &Value) -> Option<TokenCounts> {
    Some(TokenCounts {
        reasoning: count(session, "reasoning_tokens"),
        cost: dollars(session, "actual_cost_usd"),
        ..tokens(session, ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"])?
    })
}
