//! Answers in the form of Anthropic's messages.

use serde_json::{Value, json};

use super::http::{LlmServerRequest, LlmServerResponse};
use super::say::{ScriptedAnswer, ScriptedUsage, halves};

pub(crate) fn response(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> LlmServerResponse {
    LlmServerResponse::from_answer(say, request, &|| body(say, request, number), &|| events(say, request, number))
}

fn body(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Value {
    let mut content = Vec::new();
    if !say.thinking.is_empty() {
        content.push(json!({ "type": "thinking", "thinking": say.thinking, "signature": "c2lnbmVk" }));
    }
    if !say.text.is_empty() {
        content.push(json!({ "type": "text", "text": say.text }));
    }
    for (index, (name, arguments)) in say.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
        content.push(json!({ "type": "tool_use", "id": id(number, index), "name": name, "input": input }));
    }
    message(request, number, json!(content), json!(finish(say)), say.usage.as_ref().map(usage))
}

fn message(
    request: &LlmServerRequest,
    number: usize,
    content: Value,
    stop_reason: Value,
    usage: Option<Value>,
) -> Value {
    let mut message = json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
    });
    if let Some(usage) = usage {
        message["usage"] = usage;
    }
    message
}

fn events(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Vec<String> {
    // Input counts come first, output counts last.
    let first = say.usage.as_ref().map(|told| {
        let mut first = usage(told);
        first["output_tokens"] = json!(1);
        first
    });
    let start = message(request, number, json!([]), Value::Null, first);
    let mut all = vec![json!({ "type": "message_start", "message": start }), json!({ "type": "ping" })];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>| {
        all.push(json!({ "type": "content_block_start", "index": index, "content_block": begin }));
        all.extend(
            deltas.into_iter().map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        all.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !say.thinking.is_empty() {
        let mut deltas = pieces(&halves(&say.thinking), "thinking_delta", "thinking");
        deltas.push(json!({ "type": "signature_delta", "signature": "c2lnbmVk" }));
        block(json!({ "type": "thinking", "thinking": "" }), deltas);
    }
    if !say.text.is_empty() {
        block(json!({ "type": "text", "text": "" }), pieces(&say.pieces(), "text_delta", "text"));
    }
    for (call, (name, arguments)) in say.calls.iter().enumerate() {
        let begin = json!({ "type": "tool_use", "id": id(number, call), "name": name, "input": {} });
        block(begin, pieces(&halves(arguments), "input_json_delta", "partial_json"));
    }
    let mut end = json!({ "type": "message_delta", "delta": { "stop_reason": finish(say), "stop_sequence": null } });
    if let Some(counts) = &say.usage {
        end["usage"] = json!({ "output_tokens": counts.output });
    }
    all.push(end);
    all.push(json!({ "type": "message_stop" }));
    all.iter().map(|event| format!("event: {}\ndata: {event}", event["type"].as_str().unwrap_or_default())).collect()
}

fn pieces(texts: &[String], kind: &str, field: &str) -> Vec<Value> {
    texts.iter().map(|text| json!({ "type": kind, field: text })).collect()
}

fn id(number: usize, index: usize) -> String {
    format!("toolu_{number}_{index}")
}

fn finish(say: &ScriptedAnswer) -> &'static str {
    say.finish("end_turn", "tool_use", "max_tokens")
}

/// Here `input_tokens` excludes tokens from a cache.
fn usage(usage: &ScriptedUsage) -> Value {
    let cached = usage.cached.unwrap_or(0);
    let mut told = json!({ "input_tokens": usage.input - cached - usage.cache_write, "output_tokens": usage.output });
    if usage.cached.is_some() {
        told["cache_read_input_tokens"] = json!(cached);
        told["cache_creation_input_tokens"] = json!(usage.cache_write);
    }
    told
}
