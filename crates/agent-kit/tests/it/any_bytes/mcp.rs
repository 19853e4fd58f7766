//! The MCP server: any line has a reply, an error or, where the protocol says so, none; and the next request is served.

use agent_kit::json_rpc::{MessageLine, MessageLines};
use agent_kit::mcp::protocol::{MAX_BATCH, McpServer, McpTool, ToolOutcome, ToolSet};
use serde_json::{Value, json};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "MCP messages",
    samples: &[
        b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}\r\n\n{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"n\":[1,\"\\u00e9\"]}}}\n",
        b"[{\"id\":1,\"method\":\"ping\"},{\"method\":\"x\"},{\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\",\"arguments\":null}}]\n{\"id\":4,\"result\":{}}",
        b"not json\n7\n[]\n{\"id\":9,\"method\":5}\n",
    ],
    words: &[
        "{\"id\":5,\"method\":\"ping\"}", "\"jsonrpc\"", "\"id\"", "\"method\"", "\"params\"", "\"name\"", "\"arguments\"",
        "\"tools/call\"", "\"tools/list\"", "\"initialize\"", "\"ping\"", "\"result\"", "\"error\"", "null", "1e999", "1.5", "-1",
        "18446744073709551616", "{", "}", "[", "]", ",", ":", "\n", "\r\n", "\"\\ud800\"", "\"\\u0000\"", "\u{feff}", "true",
    ],
    check,
};

/// Bytes of a line the server takes here.
const CAP: usize = 4000;

fn check(bytes: &[u8]) {
    let mut server = McpServer::new(Echo);
    let mut whole = MessageLines::new(CAP);
    let mut lines = whole.push(bytes);
    lines.extend(whole.finish());
    assert_eq!(one_by_one(bytes), lines, "however it comes in");
    for line in lines {
        let MessageLine::Whole(line) = line else { continue };
        let reply = server.handle(&line);
        if let Some(reply) = &reply {
            assert_reply(reply);
        }
        assert_eq!(reply, expected(&line, reply.as_ref()), "{}", line.escape_ascii());
        let pong = server.handle(b"{\"jsonrpc\":\"2.0\",\"id\":\"still there\",\"method\":\"ping\"}");
        assert_eq!(pong, Some(json!({ "jsonrpc": "2.0", "id": "still there", "result": {} })));
    }
}

fn one_by_one(bytes: &[u8]) -> Vec<MessageLine> {
    let mut lines = MessageLines::new(CAP);
    let mut found: Vec<MessageLine> = bytes.chunks(1).flat_map(|byte| lines.push(byte)).collect();
    found.extend(lines.finish());
    found
}

/// Whether there is a reply at all is decided here once more, from the line alone; what it says is the server's.
fn expected(line: &[u8], reply: Option<&Value>) -> Option<Value> {
    let needs_none = |message: &Value| match message.get("method").and_then(Value::as_str) {
        Some(_) => message.get("id").is_none(),
        None => message.get("result").is_some() || message.get("error").is_some(),
    };
    let is_silent = match serde_json::from_slice::<Value>(line) {
        Err(_) => line.trim_ascii().is_empty(),
        Ok(Value::Array(batch)) => (1..=MAX_BATCH).contains(&batch.len()) && batch.iter().all(needs_none),
        Ok(message) => needs_none(&message),
    };
    if is_silent { None } else { Some(reply.cloned().expect("what is asked is answered")) }
}

fn assert_reply(reply: &Value) {
    let replies = reply.as_array().map_or(std::slice::from_ref(reply), Vec::as_slice);
    assert!(!replies.is_empty());
    for reply in replies {
        assert_eq!(reply["jsonrpc"], "2.0");
        assert!(reply.get("id").is_some() && reply.get("result").is_some() != reply.get("error").is_some(), "{reply}");
        assert!(!reply.to_string().contains('\n'), "a reply is one line");
    }
}

/// Two tools: one that says what it was given, one that fails.
struct Echo;

impl ToolSet for Echo {
    fn list(&self) -> Vec<McpTool> {
        let tool = |name: &str| McpTool { name: name.to_owned(), description: String::new(), input_schema: json!({}) };
        vec![tool("echo"), tool("fail")]
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome> {
        match name {
            "echo" => Some(ToolOutcome::done(arguments.to_string())),
            "fail" => Some(ToolOutcome::failed("it failed")),
            _ => None,
        }
    }
}
