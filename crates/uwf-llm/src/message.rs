//! Messages of a conversation.

use serde_json::{Map, Value, json};

/// A call of a tool as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatToolCall {
    /// The provider's id of this call, which its result must repeat.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as written: usually JSON, but possibly any text.
    pub arguments: String,
    /// Other fields of the call that the provider expects back, such as thought signatures.
    pub extra: Map<String, Value>,
}

impl ChatToolCall {
    /// The arguments as an object, which is empty for a call without arguments.
    ///
    /// # Errors
    /// Why they are not an object, in words for the model.
    pub fn parsed(&self) -> Result<Map<String, Value>, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        match yaml_tree::json_value(&self.arguments) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments can't be read: {error}")),
        }
    }

    /// The arguments to send back: always an object, because many providers reject a whole conversation with one broken call in its
    /// history.
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
    /// Instructions to the model.
    System(String),
    /// The user's message.
    User(String),
    /// The model's message.
    Assistant {
        /// Its text; may be empty.
        text: String,
        /// Its calls.
        tool_calls: Vec<ChatToolCall>,
        /// Its reasoning in the provider's form. Some providers expect it back before the results of its calls.
        reasoning: Option<Value>,
    },
    /// The result of one call.
    Tool {
        /// [`ChatToolCall::id`].
        id: String,
        /// The result's text.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

impl ChatMessage {
    /// The result of a successful call.
    pub fn tool(id: &str, content: impl Into<String>) -> ChatMessage {
        ChatMessage::Tool { id: id.to_owned(), content: content.into(), is_error: false }
    }
}
