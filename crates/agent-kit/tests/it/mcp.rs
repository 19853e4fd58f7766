//! The protocol of the MCP server, without a process and without a store.

use agent_kit::mcp::protocol::{MAX_BATCH, McpServer, McpTool, ToolOutcome, ToolSet};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Two tools: one that says what it was given, one that fails.
struct Echo;

impl ToolSet for Echo {
    fn list(&self) -> Vec<McpTool> {
        ["echo", "fail"]
            .map(|name| McpTool {
                name: name.to_owned(),
                description: format!("does {name}"),
                input_schema: json!({ "type": "object" }),
            })
            .into()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome> {
        match name {
            "echo" => Some(ToolOutcome::done(arguments.to_string())),
            "fail" => Some(ToolOutcome::failed("it failed")),
            _ => None,
        }
    }
}

fn reply(line: &str) -> Option<Value> {
    McpServer::new(Echo).handle(line.as_bytes())
}

fn result(method: &str, params: &Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let reply = reply(&message.to_string()).expect("a request is answered");
    assert_eq!((&reply["jsonrpc"], &reply["id"]), (&json!("2.0"), &json!(1)));
    reply.get("result").or(reply.get("error")).cloned().expect("a result or an error")
}

#[test]
fn known_client_versions_are_echoed() {
    let answered = |asked: Value| result("initialize", &json!({ "protocolVersion": asked }))["protocolVersion"].clone();
    for known in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        assert_eq!(answered(json!(known)), json!(known));
    }
    assert_eq!(answered(json!("2031-01-01")), json!("2025-06-18"));
    assert_eq!(answered(json!(7)), json!("2025-06-18"));
    let initialized = result("initialize", &json!({}));
    assert_eq!(initialized["capabilities"], json!({ "tools": { "listChanged": false } }));
    assert_eq!(initialized["serverInfo"]["name"], json!("uwf"));
}

#[test]
fn tools_are_listed_and_called() {
    let offered = |name: &str| json!({ "name": name, "description": format!("does {name}"), "inputSchema": { "type": "object" } });
    assert_eq!(result("tools/list", &Value::Null), json!({ "tools": [offered("echo"), offered("fail")] }));
    assert_eq!(
        result("tools/call", &json!({ "name": "echo", "arguments": { "n": 1 } })),
        json!({ "content": [{ "type": "text", "text": "{\"n\":1}" }], "isError": false })
    );
    let without_arguments = result("tools/call", &json!({ "name": "echo", "arguments": null }));
    assert_eq!(without_arguments["content"][0]["text"], json!("{}"));
    assert_eq!(
        result("tools/call", &json!({ "name": "fail" })),
        json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true })
    );
}

#[test]
fn invalid_requests_get_protocol_errors() {
    let told = [
        "{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"ecko\"}}",
        "{\"id\": \"a\", \"method\": \"tools/call\"}",
        "{\"id\": 1.5, \"method\": \"resources/list\"}",
        "{\"id\": 9, \"method\": 5}",
        "{}",
        "7",
        "[]",
        "not json at all",
        "{\"id\": 1, \"method\": \"ping\"",
    ]
    .map(|line| {
        let reply = reply(line).unwrap();
        format!("{} {} {}", reply["id"], reply["error"]["code"], reply["error"]["message"].as_str().unwrap())
    });
    assert_eq!(
        told,
        [
            "1 -32602 unknown tool `ecko`; the tools are echo, fail",
            "\"a\" -32602 `tools/call` needs the `name` of a tool",
            "1.5 -32601 unknown method `resources/list`",
            "9 -32600 a message is an object with a `method`",
            "null -32600 a message is an object with a `method`",
            "null -32600 a message is an object with a `method`",
            "null -32600 a batch holds 1 to 100 messages, this one 0",
            "null -32700 the line is not JSON: expected ident at line 1 column 2",
            "null -32700 the line is not JSON: EOF while parsing an object at line 1 column 26",
        ]
    );
}

#[test]
fn notifications_get_no_reply() {
    for line in [
        "",
        "  \r",
        "{\"method\": \"notifications/initialized\"}",
        "{\"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 1}}",
        "{\"method\": \"no such thing\"}",
        "{\"id\": 4, \"result\": {}}",
        "{\"id\": 4, \"error\": {\"code\": 1, \"message\": \"x\"}}",
        "[{\"method\": \"notifications/initialized\"}]",
    ] {
        assert_eq!(reply(line), None, "{line}");
    }
    assert_eq!(result("ping", &Value::Null), json!({}));
}

#[test]
fn batch_replies_arrive_together_and_batches_are_limited() {
    let batch = json!([
        { "id": 1, "method": "ping" },
        { "method": "notifications/initialized" },
        { "id": 2, "method": "tools/call", "params": { "name": "fail" } },
    ]);
    let replies = reply(&batch.to_string()).unwrap();
    let ids: Vec<&Value> = replies.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)]);
    let many = Value::from(vec![json!({ "id": 1, "method": "ping" }); MAX_BATCH + 1]);
    assert_eq!(reply(&many.to_string()).unwrap()["error"]["code"], json!(-32600));
}

/// Anything that could stand in a message.
fn json_like() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["2.0", "ping", "initialize", "tools/list", "tools/call", "echo", "x"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop::sample::select(vec!["jsonrpc", "id", "method", "params", "name", "arguments", "result"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.prop_map(str::to_owned), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = McpServer::new(Echo).handle(&bytes);
    }

    #[test]
    fn arbitrary_messages_get_valid_replies_without_panic(message in json_like()) {
        let replies = match McpServer::new(Echo).handle(message.to_string().as_bytes()) {
            None => Vec::new(),
            Some(Value::Array(replies)) => replies,
            Some(reply) => vec![reply],
        };
        for reply in replies {
            prop_assert_eq!(&reply["jsonrpc"], &json!("2.0"));
            prop_assert!(reply.get("id").is_some());
            prop_assert!(reply.get("result").is_some() != reply.get("error").is_some());
        }
    }
}
