//! Answers in the form of OpenAI's chat completions.

use serde_json::{Value, json};

use super::http::{LlmServerRequest, LlmServerResponse};
use super::say::{ScriptedAnswer, ScriptedUsage, halves};

pub(crate) fn response(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> LlmServerResponse {
    LlmServerResponse::from_answer(say, request, &|| body(say, request, number), &|| events(say, request, number))
}

fn body(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Value {
    let mut message = json!({ "role": "assistant", "content": say.text });
    if !say.calls.is_empty() {
        if say.text.is_empty() {
            message["content"] = Value::Null;
        }
        let call = |(index, (name, arguments)): (usize, &(String, String))| json!({ "id": id(number, index), "type": "function", "function": { "name": name, "arguments": arguments } });
        message["tool_calls"] = say.calls.iter().enumerate().map(call).collect();
    }
    if !say.thinking.is_empty() {
        message["reasoning_content"] = json!(say.thinking);
    }
    let mut body = json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.body["model"],
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(say) }],
    });
    if let Some(counts) = &say.usage {
        body["usage"] = usage(counts);
    }
    body
}

fn events(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": request.body["model"],
            "choices": choices,
        })
    };
    let delta = |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]));
    let mut chunks = vec![delta(json!({ "role": "assistant", "content": "" }))];
    chunks.extend(halves(&say.thinking).iter().map(|piece| delta(json!({ "reasoning_content": piece }))));
    chunks.extend(say.pieces().iter().map(|piece| delta(json!({ "content": piece }))));
    for (index, (name, arguments)) in say.calls.iter().enumerate() {
        let function = json!({ "name": name, "arguments": "" });
        let begin = json!({ "index": index, "id": id(number, index), "type": "function", "function": function });
        chunks.push(delta(json!({ "tool_calls": [begin] })));
        let more = |piece: &String| json!({ "index": index, "function": { "arguments": piece } });
        chunks.extend(halves(arguments).iter().map(|piece| delta(json!({ "tool_calls": [more(piece)] }))));
    }
    chunks.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish(say) }])));
    let wanted = request.body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
    if let Some(counts) = say.usage.as_ref().filter(|_| wanted) {
        let mut last = chunk(json!([]));
        last["usage"] = usage(counts);
        chunks.push(last);
    }
    let done = "data: [DONE]".to_owned();
    chunks.iter().map(|chunk| format!("data: {chunk}")).chain([done]).collect()
}

fn id(number: usize, index: usize) -> String {
    format!("call_{number}_{index}")
}

fn finish(say: &ScriptedAnswer) -> &'static str {
    say.finish("stop", "tool_calls", "length")
}

fn usage(usage: &ScriptedUsage) -> Value {
    let mut told = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    });
    if let Some(cached) = usage.cached {
        told["prompt_tokens_details"] = json!({ "cached_tokens": cached });
    }
    if let Some(reasoning) = usage.reasoning {
        told["completion_tokens_details"] = json!({ "reasoning_tokens": reasoning });
    }
    if let Some(cost) = usage.cost {
        told["cost"] = json!(cost);
    }
    told
}
