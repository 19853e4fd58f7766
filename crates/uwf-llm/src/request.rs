//! What a model is asked.

use serde_json::Value;

use crate::message::ChatMessage;

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name, of letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for, for the model to read.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// Whether tools are to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Tool(String),
}

/// The form of the text.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    /// Any JSON object. Some providers want the word JSON in the conversation then. Anthropic has no such thing.
    JsonObject,
    /// JSON of a schema.
    JsonSchema {
        /// Name of letters, digits, `_` and `-`.
        name: String,
        /// The schema.
        schema: Value,
        /// The schema is of the strict subset ([`crate::strict`]) and the provider shall enforce it.
        strict: bool,
    },
}

/// One request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Tools on offer.
    pub tools: Vec<Tool>,
    /// Whether to call them; `None` leaves it to the provider.
    pub tool_choice: Option<ToolChoice>,
    /// The form of the text; `None` is free text.
    pub response_format: Option<ResponseFormat>,
    /// 0 is the most predictable; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// Most tokens to write; `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
    /// Let the reply come in pieces. A provider that is silent for long is noticed sooner so.
    pub stream: bool,
}

impl ChatRequest {
    /// A request of these messages and nothing else.
    pub fn new(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest { messages, ..ChatRequest::default() }
    }
}
