//! What a model answered.

use std::time::Duration;

use serde_json::Value;

use crate::message::{ChatMessage, ToolCall};
use crate::usage::Usage;

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It was done.
    Stop,
    /// It reached the most it may write: the reply is cut.
    Length,
    /// It waits for the results of its calls.
    ToolCalls,
    /// Anything else, in the provider's word; empty when it gave none.
    Other(String),
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// Text; may be empty.
    pub text: String,
    /// Calls of tools, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Token counts, as far as reported.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub finish: Finish,
    /// Reasoning in the provider's form, to be sent back as part of [`ChatReply::message`].
    pub reasoning: Option<Value>,
    /// All the provider said. Of a streamed reply, its pieces put together in the form of one that is not streamed.
    pub raw: Value,
    /// From sending the request that was answered to the end of the answer; earlier tries are not in it.
    pub latency: Duration,
}

impl ChatReply {
    /// The reply as a message of the conversation it continues.
    pub fn message(&self) -> ChatMessage {
        ChatMessage::Assistant {
            text: self.text.clone(),
            tool_calls: self.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
        }
    }
}
