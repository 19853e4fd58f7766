//! Exchanges with a model, as recorded in a trace and as shown while they run.

use std::sync::Arc;
use std::time::Duration;

use agent_kit::answer::{AgentToolCall, AgentTurn};
use uwf_llm::{ChatMessage, ChatReply, LookedUp, ReplyDelta, StructuredAttempt};

use crate::model;
use crate::progress;

/// Shows a piece of a reply as it arrives, including the growing value of a call.
pub(crate) fn hear(delta: ReplyDelta<'_>) {
    match delta {
        ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) | ReplyDelta::Call { arguments: text, .. } => {
            progress::piece(text.as_bytes());
        }
        ReplyDelta::Restart => progress::line("\n[asking for the answer again]"),
    }
}

/// An attempt at a value as a turn; `input` are the texts it began with. `None` without a reply.
pub(crate) fn turn_of(input: &[Arc<str>], attempt: &StructuredAttempt) -> Option<AgentTurn> {
    let added = attempt.added.iter().filter_map(text_of).map(Arc::from);
    let input = input.iter().cloned().chain(added).collect();
    attempt.reply.as_ref().map(|reply| turn(input, reply, &attempt.looked_up))
}

/// A reply as a turn.
pub(crate) fn turn(input: Vec<Arc<str>>, reply: &ChatReply, looked_up: &[LookedUp]) -> AgentTurn {
    let tool_calls = looked_up.iter().map(|looked_up| {
        let LookedUp { call, result: Ok(result) | Err(result), took } = looked_up;
        let (name, arguments, result) = (call.name.clone(), call.arguments.clone(), result.clone());
        AgentToolCall { name, arguments, result, duration_ms: millis(*took) }
    });
    AgentTurn {
        input,
        output: said(reply, looked_up),
        tool_calls: tool_calls.collect(),
        tokens: reply.usage.map(model::tokens),
        latency_ms: millis(reply.latency),
    }
}

/// The text of a reply, then its values. Lookups are in the tool calls.
pub(crate) fn said(reply: &ChatReply, looked_up: &[LookedUp]) -> String {
    let text = Some(reply.text.as_str()).filter(|text| !text.trim().is_empty());
    let values = reply.tool_calls.iter().filter(|call| !looked_up.iter().any(|made| made.call.id == call.id));
    let parts: Vec<&str> = text.into_iter().chain(values.map(|call| call.arguments.as_str())).collect();
    parts.join("\n\n")
}

/// The text of a message; `None` if the model only called tools.
pub(crate) fn text_of(message: &ChatMessage) -> Option<&str> {
    match message {
        ChatMessage::Assistant { text, .. } if text.is_empty() => None,
        ChatMessage::System(text)
        | ChatMessage::User(text)
        | ChatMessage::Tool { content: text, .. }
        | ChatMessage::Assistant { text, .. } => Some(text),
    }
}

/// A time in whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
