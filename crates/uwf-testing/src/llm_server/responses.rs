//! Answers in the form of OpenAI's responses, which codex uses.

use serde_json::{Value, json};

use super::http::{LlmServerRequest, LlmServerResponse};
use super::say::{ScriptedAnswer, ScriptedUsage, halves};

pub(crate) fn response(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> LlmServerResponse {
    LlmServerResponse::from_answer(say, request, &|| body(say, request, number), &|| events(say, request, number))
}

fn body(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Value {
    let status = if say.cut_at_max_tokens { "incomplete" } else { "completed" };
    let mut body = json!({
        "id": format!("resp_{number}"),
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": request.body["model"],
        "output": items(say, number),
    });
    if say.cut_at_max_tokens {
        body["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    if let Some(counts) = &say.usage {
        body["usage"] = usage(counts);
    }
    body
}

fn items(say: &ScriptedAnswer, number: usize) -> Vec<Value> {
    let mut items = Vec::new();
    if !say.thinking.is_empty() {
        let summary = json!([{ "type": "summary_text", "text": say.thinking }]);
        items.push(json!({ "type": "reasoning", "id": format!("rs_{number}"), "summary": summary }));
    }
    if !say.text.is_empty() {
        let content = json!([{ "type": "output_text", "text": say.text, "annotations": [] }]);
        let id = format!("msg_{number}");
        items.push(
            json!({ "type": "message", "id": id, "status": "completed", "role": "assistant", "content": content }),
        );
    }
    for (index, (name, arguments)) in say.calls.iter().enumerate() {
        let mut item = json!({
            "type": "function_call",
            "id": format!("fc_{number}_{index}"),
            "call_id": format!("call_{number}_{index}"),
            "status": "completed",
            "name": name,
            "arguments": arguments,
        });
        // A tool of a namespace, such as a tool of an MCP server.
        if let Some((namespace, tool)) = name.split_once('.') {
            item["namespace"] = json!(namespace);
            item["name"] = json!(tool);
        }
        items.push(item);
    }
    items
}

fn events(say: &ScriptedAnswer, request: &LlmServerRequest, number: usize) -> Vec<String> {
    let mut begun = body(say, request, number);
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    let mut all = vec![json!({ "type": "response.created", "response": begun })];
    for (index, item) in items(say, number).into_iter().enumerate() {
        let place = |mut event: Value| {
            event["output_index"] = json!(index);
            event
        };
        all.push(place(json!({ "type": "response.output_item.added", "item": opened(&item) })));
        let told = |kind: &str, more: &String| {
            place(json!({ "type": kind, "item_id": item["id"], "content_index": 0, "delta": more }))
        };
        match item["type"].as_str() {
            Some("message") => all.extend(say.pieces().iter().map(|more| told("response.output_text.delta", more))),
            Some("function_call") => {
                let arguments = halves(item["arguments"].as_str().unwrap_or_default());
                all.extend(arguments.iter().map(|more| told("response.function_call_arguments.delta", more)));
            }
            _ => {}
        }
        all.push(place(json!({ "type": "response.output_item.done", "item": item })));
    }
    let whole = body(say, request, number);
    let kind = if say.cut_at_max_tokens { "response.incomplete" } else { "response.completed" };
    all.push(json!({ "type": kind, "response": whole }));
    let numbered = all.into_iter().enumerate().map(|(sequence, mut event)| {
        event["sequence_number"] = json!(sequence);
        format!("event: {}\ndata: {event}", event["type"].as_str().unwrap_or_default())
    });
    numbered.collect()
}

/// An item that has only started.
fn opened(item: &Value) -> Value {
    let mut item = item.clone();
    item["status"] = json!("in_progress");
    match item["type"].as_str() {
        Some("message") => item["content"] = json!([]),
        Some("function_call") => item["arguments"] = json!(""),
        _ => {}
    }
    item
}

fn usage(usage: &ScriptedUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached.unwrap_or(0) },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
        "total_tokens": usage.input + usage.output,
    })
}
