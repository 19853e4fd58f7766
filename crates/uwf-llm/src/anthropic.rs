//! Anthropic's messages.

mod assembly;

pub(crate) use assembly::AnthropicAssembly;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::endpoint::ModelEndpoint;
use crate::error::{Error, Result};
use crate::message::{ChatMessage, ChatToolCall};
use crate::reply::{ChatReply, FinishReason};
use crate::request::{ChatRequest, ChatTool, ResponseFormat, ToolChoice};
use crate::usage::LlmUsage;

/// Default of the limit, which the API requires with every request. It is enough for a large file in one call. A model with a lower maximum
/// reports it, and the request is repeated with that.
const DEFAULT_MAX_TOKENS: u32 = 16_384;

/// The body of a request.
pub(crate) fn body(model: &str, request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("max_tokens".to_owned(), request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into());
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("system", system(&request.messages));
    set("messages", Some(Value::Array(messages(request))));
    set("tools", (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()));
    set("tool_choice", request.tool_choice.as_ref().map(tool_choice));
    set("output_config", request.response_format.as_ref().and_then(output_config));
    set("temperature", request.temperature.map(Value::from));
    set("stream", request.stream.then_some(Value::Bool(true)));
    Value::Object(body)
}

/// The system text, which is not a message in this API.
fn system(messages: &[ChatMessage]) -> Option<Value> {
    let texts = messages.iter().filter_map(|message| match message {
        ChatMessage::System(text) => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| json!(texts.join("\n\n")))
}

/// Messages with alternating roles. Results of calls belong to the user, and all results of one round must be in one message.
fn messages(request: &ChatRequest) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            ChatMessage::System(_) => continue,
            ChatMessage::User(text) if turns.is_empty() => ("user", shared_blocks(text, &request.shared_ends)),
            ChatMessage::User(text) => ("user", vec![json!({ "type": "text", "text": text })]),
            ChatMessage::Assistant { text, tool_calls, reasoning } => {
                ("assistant", assistant(text, tool_calls, reasoning.as_ref()))
            }
            ChatMessage::Tool { id, content, is_error } => ("user", vec![tool_result(id, content, *is_error)]),
        };
        match turns.last_mut() {
            // The API rejects an empty turn, which has no meaning anyway.
            _ if blocks.is_empty() => {}
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    // The next request of this conversation repeats all of it.
    if turns.len() > 1
        && let Some(last) = turns.last_mut().and_then(|(_, blocks)| blocks.last_mut())
    {
        mark_for_cache(last);
    }
    turns.into_iter().map(|(role, blocks)| json!({ "role": role, "content": blocks })).collect()
}

/// A text in blocks that end at these positions. The API caches only up to marked blocks, at most four in a request, and then also finds
/// up to twenty blocks before a mark in its cache. So the first and the last shared block are marked.
fn shared_blocks(text: &str, ends: &[usize]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in ends {
        if let Some(part) = text.get(start..*end).filter(|part| !part.trim().is_empty()) {
            blocks.push(json!({ "type": "text", "text": part }));
            start = *end;
        }
    }
    if let Some(first) = blocks.first_mut() {
        mark_for_cache(first);
    }
    if let Some(last) = blocks.last_mut() {
        mark_for_cache(last);
    }
    let rest = &text[start..];
    if blocks.is_empty() || !rest.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": rest }));
    }
    blocks
}

fn mark_for_cache(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn assistant(text: &str, tool_calls: &[ChatToolCall], reasoning: Option<&Value>) -> Vec<Value> {
    // Reasoning must be sent back unchanged, because it is signed, and before the calls that followed it.
    let mut blocks: Vec<Value> = match reasoning {
        Some(Value::Array(blocks)) if !tool_calls.is_empty() => blocks.clone(),
        _ => Vec::new(),
    };
    if !text.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": text.trim_end() }));
    }
    let call =
        |call: &ChatToolCall| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.sendable() });
    blocks.extend(tool_calls.iter().map(call));
    blocks
}

fn tool_result(id: &str, content: &str, is_error: bool) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn tool(tool: &ChatTool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
    }
}

/// The API supports JSON with a schema, which is always enforced, but not JSON without one.
fn output_config(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::JsonObject => None,
        ResponseFormat::JsonSchema { schema, .. } => {
            Some(json!({ "format": { "type": "json_schema", "schema": schema } }))
        }
    }
}

/// Parses a complete reply.
pub(crate) fn reply(endpoint: &ModelEndpoint, raw: Value) -> Result<ChatReply> {
    if let Some(error) = Error::inside(endpoint, &raw) {
        return Err(error);
    }
    let Some(blocks) = raw.get("content").and_then(Value::as_array) else {
        return Err(Error::bad_reply(endpoint, "it has no content", &raw.to_string()));
    };
    let kind = |block: &Value| block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let thoughts: Vec<Value> =
        blocks.iter().filter(|block| matches!(&*kind(block), "thinking" | "redacted_thinking")).cloned().collect();
    let finish = FinishReason::from_provider_word(raw.get("stop_reason").and_then(Value::as_str).unwrap_or_default());
    Ok(ChatReply {
        text: blocks
            .iter()
            .filter(|block| kind(block) == "text")
            .filter_map(|block| block.get("text")?.as_str())
            .collect(),
        tool_calls: blocks.iter().filter(|block| kind(block) == "tool_use").map(read_call).collect(),
        usage: raw.get("usage").and_then(LlmUsage::anthropic),
        finish,
        reasoning: (!thoughts.is_empty()).then_some(Value::Array(thoughts)),
        latency: Duration::ZERO,
        raw,
    })
}

fn read_call(block: &Value) -> ChatToolCall {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = match block.get("input") {
        // A streamed call whose pieces were not JSON: its text as written.
        Some(Value::String(written)) => written.clone(),
        Some(input) => input.to_string(),
        None => String::new(),
    };
    ChatToolCall { id: text("id"), name: text("name"), arguments, extra: Map::new() }
}
