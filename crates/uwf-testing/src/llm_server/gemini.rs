//! Answers in the form of Gemini's `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::http::{LlmServerRequest, LlmServerResponse};
use super::say::{ScriptedAnswer, ScriptedUsage};

pub(crate) fn response(say: &ScriptedAnswer, request: &LlmServerRequest) -> LlmServerResponse {
    LlmServerResponse::from_answer(say, request, &|| body(say, &whole(say), true), &|| events(say))
}

fn whole(say: &ScriptedAnswer) -> Vec<Value> {
    let mut parts = Vec::new();
    if !say.thinking.is_empty() {
        parts.push(json!({ "text": say.thinking, "thought": true }));
    }
    if !say.text.is_empty() {
        parts.push(json!({ "text": say.text }));
    }
    parts.extend(calls(say));
    parts
}

fn calls(say: &ScriptedAnswer) -> impl Iterator<Item = Value> {
    say.calls.iter().map(|(name, arguments)| {
        let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({ "functionCall": { "name": name, "args": args } })
    })
}

fn body(say: &ScriptedAnswer, parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    let mut body = json!({ "modelVersion": "scripted" });
    if is_last {
        // In this API, an answer with calls ends like any other.
        candidate["finishReason"] = json!(say.finish("STOP", "STOP", "MAX_TOKENS"));
        if let Some(counts) = &say.usage {
            body["usageMetadata"] = usage(counts);
        }
    }
    body["candidates"] = json!([candidate]);
    body
}

/// Streams texts in pieces, and calls whole with the end.
fn events(say: &ScriptedAnswer) -> Vec<String> {
    let texts = say.pieces().into_iter().filter(|piece| !piece.is_empty()).map(|piece| json!({ "text": piece }));
    let thinking = (!say.thinking.is_empty()).then(|| json!({ "text": say.thinking, "thought": true }));
    let mut all: Vec<Value> = thinking.into_iter().chain(texts).map(|part| body(say, &[part], false)).collect();
    all.push(body(say, &calls(say).collect::<Vec<_>>(), true));
    all.iter().map(|event| format!("data: {event}")).collect()
}

fn usage(usage: &ScriptedUsage) -> Value {
    json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning.unwrap_or(0),
        "thoughtsTokenCount": usage.reasoning.unwrap_or(0),
        "cachedContentTokenCount": usage.cached.unwrap_or(0),
        "totalTokenCount": usage.input + usage.output,
    })
}
