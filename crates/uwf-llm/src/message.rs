//! What a conversation is made of.

use serde_json::{Map, Value, json};

/// A call of a tool as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's name of this call; its result must carry it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Arguments as written: JSON if the model did well, anything if not.
    pub arguments: String,
    /// Other fields the provider put into the call and wants back, such as thought signatures.
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// The arguments as an object; no arguments at all are an empty one.
    ///
    /// # Errors
    /// Why they are not an object, for the model to read.
    pub fn parsed(&self) -> Result<Map<String, Value>, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }

    /// The arguments as the provider gets them back: always an object, because many refuse a whole conversation for one
    /// broken call in its history.
    pub(crate) fn sendable(&self) -> Map<String, Value> {
        self.parsed().unwrap_or_else(|_| {
            let mut broken = Map::new();
            broken.insert("not_json".to_owned(), json!(self.arguments));
            broken
        })
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatMessage {
    /// What the model is to be.
    System(String),
    /// What the user says.
    User(String),
    /// What the model said.
    Assistant {
        /// Its text; may be empty.
        text: String,
        /// The calls it made.
        tool_calls: Vec<ToolCall>,
        /// Its reasoning in the provider's form, which some want back before the results of its calls.
        reasoning: Option<Value>,
    },
    /// The result of one call.
    Tool {
        /// [`ToolCall::id`].
        id: String,
        /// What came out.
        content: String,
        /// The call failed.
        is_error: bool,
    },
}

impl ChatMessage {
    /// A result that is not a failure.
    pub fn tool(id: &str, content: impl Into<String>) -> ChatMessage {
        ChatMessage::Tool { id: id.to_owned(), content: content.into(), is_error: false }
    }
}
