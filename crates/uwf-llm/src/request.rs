//! Requests to a model.

use serde_json::Value;

use crate::message::ChatMessage;

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTool {
    /// Name, of letters, digits, `_` and `-`.
    pub name: String,
    /// Its purpose, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// Whether to call tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
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
    /// Any JSON object. Some providers then require the word JSON in the conversation. Anthropic does not support it.
    JsonObject,
    /// JSON with a schema.
    JsonSchema {
        /// Name of letters, digits, `_` and `-`.
        name: String,
        /// The schema.
        schema: Value,
        /// Whether the provider must enforce the schema, which must be in the strict subset ([`crate::strict`]).
        strict: bool,
    },
}

/// One request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatRequest {
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Available tools.
    pub tools: Vec<ChatTool>,
    /// Whether to call them; `None` leaves it to the provider.
    pub tool_choice: Option<ToolChoice>,
    /// The form of the text; `None` for free text.
    pub response_format: Option<ResponseFormat>,
    /// Temperature: 0 is the most predictable; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// Most output tokens; `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
    /// Positions in the first user message up to which later requests probably begin alike, ascending. Anthropic caches only up to such
    /// marks; other providers ignore them.
    pub shared_ends: Vec<usize>,
    /// Whether to stream the reply. Streaming detects a silent provider sooner.
    pub stream: bool,
}

impl ChatRequest {
    /// A request with only these messages.
    pub fn new(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest { messages, ..ChatRequest::default() }
    }
}
