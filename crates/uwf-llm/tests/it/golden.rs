//! What goes over the wire, and what is read back, for both wires.

use serde_json::json;
use uwf_llm::{
    ChatMessage, ChatRequest, ChatTool, ChatToolCall, FinishReason, LlmUsage, LlmWireFormat, ResponseFormat, ToolChoice,
};
use uwf_testing::llm_server::{self, LlmServer, ScriptedAnswer};

use crate::setting::{KEY, WIRES, ask, streamed, talk};

/// A conversation with everything in it.
fn everything() -> ChatRequest {
    let call = |id: &str, arguments: &str| ChatToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
        extra: serde_json::Map::new(),
    };
    ChatRequest {
        messages: vec![
            ChatMessage::System("You mend clocks.".to_owned()),
            ChatMessage::User("Why does it stop at noon?".to_owned()),
            ChatMessage::Assistant {
                text: "I will look.".to_owned(),
                tool_calls: vec![call("a1", r#"{"path": "gear.txt"}"#), call("a2", "{path")],
                reasoning: None,
            },
            ChatMessage::tool("a1", "12 teeth"),
            ChatMessage::Tool { id: "a2".to_owned(), content: "arguments are not JSON".to_owned(), is_error: true },
            ChatMessage::User("Go on.".to_owned()),
        ],
        tools: vec![ChatTool {
            name: "read_file".to_owned(),
            description: "Reads a file.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] }),
        }],
        tool_choice: Some(ToolChoice::Tool("read_file".to_owned())),
        response_format: Some(ResponseFormat::JsonSchema {
            name: "verdict".to_owned(),
            schema: json!({ "type": "object" }),
            strict: false,
        }),
        temperature: Some(0.5),
        max_tokens: Some(300),
        shared_ends: vec![8, 11],
        stream: false,
    }
}

/// Head and body of the only request, a line for each field and each item of a list.
fn sent(server: &LlmServer) -> String {
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let own = ["authorization", "x-api-key", "anthropic-version", "content-type"];
    let mut lines = vec![format!("{} {}", requests[0].method, requests[0].path)];
    let headers = requests[0].headers.iter().filter(|(name, _)| own.contains(&name.as_str()));
    lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
    lines.push(String::new());
    for (name, value) in requests[0].body.as_object().unwrap() {
        match value.as_array() {
            Some(items) => {
                lines.push(format!("{name}:"));
                lines.extend(items.iter().map(|item| format!("  {item}")));
            }
            None => lines.push(format!("{name}: {value}")),
        }
    }
    lines.join("\n")
}

#[test]
fn an_openai_request_is_this() {
    let (server, client) = talk(LlmWireFormat::OpenAi, [ScriptedAnswer::text("done")]);
    assert_eq!(client.chat(&everything()).unwrap().text, "done");
    insta::assert_snapshot!(sent(&server), @r##"
    POST /v1/chat/completions
    content-type: application/json
    authorization: Bearer sk-test-0123456789abcdef

    model: "test-model"
    messages:
      {"role":"system","content":"You mend clocks."}
      {"role":"user","content":"Why does it stop at noon?"}
      {"role":"assistant","content":"I will look.","tool_calls":[{"id":"a1","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"gear.txt\"}"}},{"id":"a2","type":"function","function":{"name":"read_file","arguments":"{\"not_json\":\"{path\"}"}}]}
      {"role":"tool","tool_call_id":"a1","content":"12 teeth"}
      {"role":"tool","tool_call_id":"a2","content":"arguments are not JSON"}
      {"role":"user","content":"Go on."}
    tools:
      {"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}
    tool_choice: {"type":"function","function":{"name":"read_file"}}
    response_format: {"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object"},"strict":false}}
    temperature: 0.5
    max_tokens: 300
    "##);
}

#[test]
fn an_anthropic_request_is_this() {
    let (server, client) = talk(LlmWireFormat::Anthropic, [ScriptedAnswer::text("done")]);
    assert_eq!(client.chat(&everything()).unwrap().text, "done");
    insta::assert_snapshot!(sent(&server), @r##"
    POST /v1/messages
    content-type: application/json
    x-api-key: sk-test-0123456789abcdef
    anthropic-version: 2023-06-01

    model: "test-model"
    max_tokens: 300
    system: "You mend clocks."
    messages:
      {"role":"user","content":[{"type":"text","text":"Why does","cache_control":{"type":"ephemeral"}},{"type":"text","text":" it","cache_control":{"type":"ephemeral"}},{"type":"text","text":" stop at noon?"}]}
      {"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"tool_use","id":"a1","name":"read_file","input":{"path":"gear.txt"}},{"type":"tool_use","id":"a2","name":"read_file","input":{"not_json":"{path"}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"12 teeth"},{"type":"tool_result","tool_use_id":"a2","content":"arguments are not JSON","is_error":true},{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}
    tools:
      {"name":"read_file","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}
    tool_choice: {"type":"tool","name":"read_file"}
    output_config: {"format":{"type":"json_schema","schema":{"type":"object"}}}
    temperature: 0.5
    "##);
}

#[test]
fn a_reply_is_read_whole_and_streamed_alike() {
    for wire in WIRES {
        let told = llm_server::ScriptedUsage {
            input: 50,
            output: 20,
            cached: Some(30),
            ..llm_server::ScriptedUsage::default()
        };
        let say = || {
            ScriptedAnswer::text("I look at two.")
                .thinking("Which gears?")
                .and_call("read_file", json!({ "path": "a/ü.txt" }))
                .and_call("read_file", json!({ "path": "b" }))
                .usage(told)
        };
        let (_server, client) = talk(wire, [say(), say()]);
        let whole = client.chat(&ask("go")).unwrap();
        let stream = client.chat(&streamed("go")).unwrap();
        let arguments = |reply: &uwf_llm::ChatReply| -> Vec<serde_json::Value> {
            reply.tool_calls.iter().map(|call| call.parsed().unwrap().into()).collect()
        };
        for reply in [&whole, &stream] {
            assert_eq!(reply.text, "I look at two.");
            assert_eq!(arguments(reply), [json!({ "path": "a/ü.txt" }), json!({ "path": "b" })]);
            assert_eq!(reply.finish, FinishReason::ToolCalls);
            let cache_write = (wire == LlmWireFormat::Anthropic).then_some(0);
            let usage =
                LlmUsage { input: Some(50), output: Some(20), cached: Some(30), cache_write, ..LlmUsage::default() };
            assert_eq!(reply.usage, Some(usage), "{wire:?}");
            assert!(reply.reasoning.as_ref().unwrap().to_string().contains("Which gears?"));
            assert_eq!(reply.raw["model"], "test-model");
            assert!(!reply.latency.is_zero());
        }
        assert_eq!(whole.reasoning, stream.reasoning);
        assert_eq!(whole.raw.as_object().unwrap().len(), stream.raw.as_object().unwrap().len(), "{wire:?}");
        assert!(!format!("{client:?}").contains(KEY));
    }
}

/// The counts of one reply.
fn counted(wire: LlmWireFormat, say: ScriptedAnswer, stream: bool) -> Option<LlmUsage> {
    let (_server, client) = talk(wire, [say]);
    client.chat(&if stream { streamed("go") } else { ask("go") }).unwrap().usage
}

#[test]
fn every_count_a_provider_gives_is_read() {
    let told = llm_server::ScriptedUsage {
        input: 300,
        output: 40,
        cached: Some(200),
        cache_write: 0,
        reasoning: Some(12),
        cost: Some(0.002),
    };
    for stream in [false, true] {
        let usage = counted(LlmWireFormat::OpenAi, ScriptedAnswer::text("done").usage(told), stream).unwrap();
        let all = LlmUsage {
            input: Some(300),
            output: Some(40),
            cached: Some(200),
            cache_write: None,
            reasoning: Some(12),
            cost: Some(0.002),
        };
        assert_eq!(usage, all);
        assert_eq!(usage.to_string(), "300 tokens read (200 cached), 40 written (12 reasoning), $0.002");
        // Anthropic counts neither reasoning nor money.
        let usage = counted(LlmWireFormat::Anthropic, ScriptedAnswer::text("done").usage(told), stream).unwrap();
        assert_eq!(usage, LlmUsage { cache_write: Some(0), reasoning: None, cost: None, ..all });
        assert_eq!(usage.to_string(), "300 tokens read (200 cached), 40 written");
        for wire in WIRES {
            assert_eq!(counted(wire, ScriptedAnswer::text("done").without_usage(), stream), None, "{wire:?} {stream}");
        }
    }
}

#[test]
fn counts_have_other_names_with_some_providers() {
    let raw = |body: serde_json::Value| ScriptedAnswer::raw(200, "application/json", body.to_string());
    let openai = |usage: serde_json::Value| {
        let choice = json!({ "message": { "content": "done" }, "finish_reason": "stop" });
        counted(LlmWireFormat::OpenAi, raw(json!({ "choices": [choice], "usage": usage })), false)
    };
    let hit = openai(json!({ "prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4 }));
    assert_eq!(hit, Some(LlmUsage { input: Some(9), output: Some(2), cached: Some(4), ..LlmUsage::default() }));
    assert_eq!(openai(json!({})), None);
    let some = openai(json!({ "completion_tokens": 2, "prompt_tokens": null })).unwrap();
    assert_eq!((some.input, some.to_string().as_str()), (None, "? tokens read, 2 written"));
    // What was written to a cache, and what was read from it, was read all the same.
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 30, "output_tokens": 2,
    });
    let content = json!([{ "type": "text", "text": "done" }]);
    let body = json!({ "content": content, "stop_reason": "end_turn", "usage": usage });
    let read =
        LlmUsage { input: Some(45), output: Some(2), cached: Some(30), cache_write: Some(5), ..LlmUsage::default() };
    assert_eq!(counted(LlmWireFormat::Anthropic, raw(body), false), Some(read));
}
