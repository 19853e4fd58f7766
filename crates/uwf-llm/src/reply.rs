//! Replies of a model.

use std::time::Duration;

use serde_json::Value;

use crate::message::{ChatMessage, ChatToolCall};
use crate::usage::LlmUsage;

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// It was complete.
    Stop,
    /// It reached its token limit, so the reply is cut. The provider's word.
    Length(String),
    /// It waits for the results of its calls.
    ToolCalls,
    /// Any other reason, in the provider's word; empty if it gave none.
    Other(String),
}

impl FinishReason {
    /// Interprets the finish reason of a provider, a protocol or a trace. This is the only list of good reasons; any other reason means that the
    /// turn has no answer.
    pub fn from_provider_word(word: &str) -> FinishReason {
        match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "success" | "completed" => FinishReason::Stop,
            "length" | "max_tokens" | "max_output_tokens" => FinishReason::Length(word.to_owned()),
            "tool_calls" | "tool_use" | "function_call" => FinishReason::ToolCalls,
            _ => FinishReason::Other(word.to_owned()),
        }
    }

    /// Returns why the turn has no answer, to follow "the agent …"; `None` for a good reason.
    pub fn fault(&self) -> Option<String> {
        match self {
            FinishReason::Stop | FinishReason::ToolCalls => None,
            FinishReason::Other(word) if word.is_empty() => Some("did not say how its turn ended".to_owned()),
            FinishReason::Length(word) => Some(format!("was cut off at its token limit (`{word}`)")),
            FinishReason::Other(word) => Some(format!("ended its turn with `{word}`")),
        }
    }
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// Text; may be empty.
    pub text: String,
    /// Calls of tools, in order.
    pub tool_calls: Vec<ChatToolCall>,
    /// Token counts, as far as reported.
    pub usage: Option<LlmUsage>,
    /// The finish reason.
    pub finish: FinishReason,
    /// Reasoning in the provider's form, which [`ChatReply::message`] sends back.
    pub reasoning: Option<Value>,
    /// The provider's whole response. A streamed reply is assembled into the form of an unstreamed one.
    pub raw: Value,
    /// Time from sending the successful request to the end of the reply, without earlier attempts.
    pub latency: Duration,
}

impl ChatReply {
    /// The reply as a message of the continued conversation.
    pub fn message(&self) -> ChatMessage {
        ChatMessage::Assistant {
            text: self.text.clone(),
            tool_calls: self.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
        }
    }
}
