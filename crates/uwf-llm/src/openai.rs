//! OpenAI's chat completions, as most providers support them.

mod assembly;

pub(crate) use assembly::OpenAiAssembly;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::endpoint::ModelEndpoint;
use crate::error::{Error, Result};
use crate::message::{ChatMessage, ChatToolCall};
use crate::reply::{ChatReply, FinishReason};
use crate::request::{ChatRequest, ChatTool, ResponseFormat, ToolChoice};
use crate::usage::LlmUsage;

/// Fields of a message with reasoning, which must be sent back with the calls that followed it (DeepSeek, OpenRouter).
const REASONING: [&str; 2] = ["reasoning_content", "reasoning_details"];

/// The body of a request.
pub(crate) fn body(model: &str, request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), request.messages.iter().map(message).collect());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("tool_choice", request.tool_choice.as_ref().map(tool_choice));
    set("response_format", request.response_format.as_ref().map(response_format));
    set("temperature", request.temperature.map(Value::from));
    set("max_tokens", request.max_tokens.map(Value::from));
    set("stream", request.stream.then_some(Value::Bool(true)));
    set("stream_options", request.stream.then(|| json!({ "include_usage": true })));
    Value::Object(body)
}

fn message(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::System(text) => json!({ "role": "system", "content": text }),
        ChatMessage::User(text) => json!({ "role": "user", "content": text }),
        ChatMessage::Tool { id, content, .. } => json!({ "role": "tool", "tool_call_id": id, "content": content }),
        ChatMessage::Assistant { text, tool_calls, .. } if tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        ChatMessage::Assistant { text, tool_calls, reasoning } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Vec<Value> = tool_calls.iter().map(sent_call).collect();
            let mut message = json!({ "role": "assistant", "content": content, "tool_calls": calls });
            if let (Some(fields), Some(Value::Object(reasoning))) = (message.as_object_mut(), reasoning) {
                fields.extend(reasoning.clone());
            }
            message
        }
    }
}

fn sent_call(call: &ChatToolCall) -> Value {
    let arguments = match call.parsed() {
        Ok(_) if !call.arguments.trim().is_empty() => call.arguments.clone(),
        _ => Value::Object(call.sendable()).to_string(),
    };
    let mut sent =
        json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } });
    if let Some(fields) = sent.as_object_mut() {
        fields.extend(call.extra.clone());
    }
    sent
}

fn tool(tool: &ChatTool) -> Value {
    let ChatTool { name, description, parameters } = tool;
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": parameters } })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

fn response_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({ "type": "json_schema", "json_schema": { "name": name, "schema": schema, "strict": strict } })
        }
    }
}

/// Parses a complete reply.
pub(crate) fn reply(endpoint: &ModelEndpoint, raw: Value) -> Result<ChatReply> {
    if let Some(error) = Error::inside(endpoint, &raw) {
        return Err(error);
    }
    if raw.get("choices").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Err(Error::no_choice(endpoint, &raw));
    }
    let Some(message) = raw.pointer("/choices/0/message").filter(|message| message.is_object()) else {
        return Err(Error::bad_reply(endpoint, "it has no message", &raw.to_string()));
    };
    let tool_calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let tool_calls: Vec<ChatToolCall> =
        tool_calls.iter().enumerate().map(|(index, call)| read_call(index, call)).collect();
    let refusal = message.get("refusal").and_then(Value::as_str);
    let word = raw.pointer("/choices/0/finish_reason").and_then(Value::as_str).unwrap_or_default();
    let finish = match FinishReason::from_provider_word(word) {
        _ if refusal.is_some() => FinishReason::Other("refusal".to_owned()),
        // Some providers report `stop` with calls, and some report `tool_calls` without any.
        FinishReason::Stop | FinishReason::ToolCalls if tool_calls.is_empty() => FinishReason::Stop,
        FinishReason::Stop => FinishReason::ToolCalls,
        other => other,
    };
    let text = message.get("content").map(text).filter(|text| !text.is_empty());
    Ok(ChatReply {
        text: text.or_else(|| refusal.map(str::to_owned)).unwrap_or_default(),
        usage: raw.get("usage").and_then(LlmUsage::openai),
        finish,
        reasoning: reasoning(message),
        tool_calls,
        latency: Duration::ZERO,
        raw,
    })
}

/// The text of a content that is a string or a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

fn reasoning(message: &Value) -> Option<Value> {
    let kept: Map<String, Value> = REASONING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), message.get(name).filter(|value| !value.is_null())?.clone())))
        .collect();
    Some(kept).filter(|kept| !kept.is_empty()).map(Value::Object)
}

fn read_call(index: usize, call: &Value) -> ChatToolCall {
    let text = |place: &str| call.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = match call.pointer("/function/arguments") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        // Some servers send the object itself.
        Some(other) => other.to_string(),
    };
    // Some send no id, but results must refer to one.
    let id = Some(text("/id")).filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{index}"));
    let own = ["id", "type", "function", "index"];
    let fields = call.as_object().into_iter().flatten();
    let extra = fields.filter(|(name, _)| !own.contains(&name.as_str()));
    ChatToolCall {
        id,
        name: text("/function/name"),
        arguments,
        extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}
