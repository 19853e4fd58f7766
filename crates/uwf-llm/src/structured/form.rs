//! The request in each mode.

use serde_json::{Map, Value, json};

use crate::message::ChatMessage;
use crate::mode::StructuredMode;
use crate::request::{ChatRequest, ChatTool, ResponseFormat, ToolChoice};
use crate::strict::strict;

use super::ValueSpec;

/// The property that wraps a value which is not an object: arguments of tools must be objects.
pub(super) const WRAPPED: &str = "value";

/// The request in a mode. Its own tools and format are replaced.
pub(super) fn prepared(request: &ChatRequest, shape: &ValueSpec<'_>, mode: StructuredMode) -> ChatRequest {
    let mut request = ChatRequest { tools: Vec::new(), tool_choice: None, response_format: None, ..request.clone() };
    match mode {
        StructuredMode::ForcedTool => offer(&mut request, shape, ToolChoice::Tool(shape.name.to_owned())),
        StructuredMode::ToolAuto => {
            offer(&mut request, shape, ToolChoice::Auto);
            let message = format!("Give your answer by calling the tool `{}`, exactly once.", shape.name);
            request.messages.push(ChatMessage::User(message));
        }
        StructuredMode::JsonSchema => {
            let wrapped = wrapped(shape.schema);
            let strict = strict(&wrapped);
            request.response_format = Some(ResponseFormat::JsonSchema {
                name: shape.name.to_owned(),
                strict: strict.is_some(),
                schema: strict.unwrap_or(wrapped),
            });
        }
        StructuredMode::JsonObject => {
            request.response_format = Some(ResponseFormat::JsonObject);
            request.messages.push(ChatMessage::User(in_words(&wrapped(shape.schema))));
        }
        StructuredMode::PlainText => request.messages.push(ChatMessage::User(in_words(shape.schema))),
    }
    request
}

/// Offers the tool that takes the value.
fn offer(request: &mut ChatRequest, shape: &ValueSpec<'_>, choice: ToolChoice) {
    let (name, description) = (shape.name.to_owned(), shape.description.to_owned());
    request.tools = vec![ChatTool { name, description, parameters: wrapped(shape.schema) }];
    request.tool_choice = Some(choice);
}

/// The schema as part of the prompt.
fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON value that is valid under this JSON Schema, and with nothing else:\n\n{schema}")
}

/// An object schema: the schema itself, or one with the value as its only property.
fn wrapped(schema: &Value) -> Value {
    if is_object(schema) {
        return schema.clone();
    }
    let mut inner = schema.clone();
    let mut outer = Map::new();
    outer.insert("type".to_owned(), json!("object"));
    // References start at the root, so the definitions must be there.
    for definitions in ["$defs", "definitions"] {
        if let Some(moved) = inner.as_object_mut().and_then(|fields| fields.shift_remove(definitions)) {
            outer.insert(definitions.to_owned(), moved);
        }
    }
    outer.insert("properties".to_owned(), json!({ WRAPPED: inner }));
    outer.insert("required".to_owned(), json!([WRAPPED]));
    Value::Object(outer)
}

pub(super) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}
