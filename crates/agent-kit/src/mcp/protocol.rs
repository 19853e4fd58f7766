//! The part of the Model Context Protocol that a server of tools needs. Pure: gets a message and returns a reply, if any. No input makes it
//! panic.

use json_cas::{JsonError, json_value};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::json_rpc::{INVALID_PARAMS, INVALID_REQUEST, JsonRpcMessage, METHOD_NOT_FOUND, PARSE_ERROR, failure, reply};

/// Supported versions of the protocol, oldest first. For a server of plain tools they differ only in batches, which the last version lacks.
/// Batches are accepted in every version.
pub(crate) const PROTOCOL_VERSIONS: [&str; 3] = ["2024-11-05", "2025-03-26", "2025-06-18"];

/// Most messages in a batch.
pub const MAX_BATCH: usize = 100;

/// A tool as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// Its name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of its arguments, which are always an object.
    pub input_schema: Value,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The answer for the model, as one or several texts.
    pub texts: Vec<String>,
    /// Whether the call failed; then the texts contain the reason.
    pub is_error: bool,
}

impl ToolOutcome {
    /// A call that succeeded.
    pub fn done(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { texts: vec![text.into()], is_error: false }
    }

    /// A call that failed.
    pub fn failed(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { texts: vec![text.into()], is_error: true }
    }
}

/// The tools of a server.
pub trait ToolSet {
    /// The tools, in display order.
    fn list(&self) -> Vec<McpTool>;

    /// Calls a tool; `None` if no tool has this name.
    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome>;
}

/// An MCP server with tools.
pub struct McpServer<T> {
    tools: T,
}

impl<T: ToolSet> McpServer<T> {
    /// A server with these tools.
    pub fn new(tools: T) -> McpServer<T> {
        McpServer { tools }
    }

    /// Returns the reply to one line; `None` if it needs none: notifications, unexpected replies, blank lines.
    pub fn handle(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let (message, changed) = match str::from_utf8(line).ok().map(json_value) {
            Some(Ok(message)) => (Ok(message), None),
            // `serde_json` takes the last of two equal keys and rounds large numbers, which is good enough for all but the calls of tools.
            strict => (serde_json::from_slice(line), strict.and_then(Result::err)),
        };
        match message {
            Ok(Value::Array(batch)) => self.batch(batch, changed.as_ref()),
            Ok(message) => self.message(message, changed.as_ref()),
            Err(error) => Some(unreadable(line, &error)),
        }
    }

    fn batch(&mut self, batch: Vec<Value>, changed: Option<&JsonError>) -> Option<Value> {
        if batch.is_empty() || batch.len() > MAX_BATCH {
            let message = format!("a batch holds 1 to {MAX_BATCH} messages, this one {}", batch.len());
            return Some(failure(&Value::Null, INVALID_REQUEST, &message));
        }
        let replies: Vec<Value> = batch.into_iter().filter_map(|message| self.message(message, changed)).collect();
        (!replies.is_empty()).then_some(Value::Array(replies))
    }

    fn message(&mut self, message: Value, changed: Option<&JsonError>) -> Option<Value> {
        match JsonRpcMessage::from_value(message) {
            Ok(JsonRpcMessage::Request { id, method, params }) => Some(match self.result(&method, &params, changed) {
                Ok(result) => reply(&id, result),
                Err((code, message)) => failure(&id, code, &message),
            }),
            Ok(JsonRpcMessage::Notification { .. } | JsonRpcMessage::Reply { .. }) => None,
            Err(id) => Some(failure(&id, INVALID_REQUEST, "a message is an object with a `method`")),
        }
    }

    fn result(&mut self, method: &str, params: &Value, changed: Option<&JsonError>) -> Result<Value, (i64, String)> {
        match method {
            "initialize" => Ok(json!({
                "protocolVersion": version(params),
                "capabilities": { "tools": { "listChanged": false } },
                "serverInfo": { "name": super::SERVER_NAME, "version": env!("CARGO_PKG_VERSION") },
            })),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let tools: Vec<Value> = self.tools.list().into_iter().map(offered).collect();
                Ok(json!({ "tools": tools }))
            }
            "tools/call" => self.call(params, changed),
            other => Err((METHOD_NOT_FOUND, format!("unknown method `{other}`"))),
        }
    }

    fn call(&mut self, params: &Value, changed: Option<&JsonError>) -> Result<Value, (i64, String)> {
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            return Err((INVALID_PARAMS, "`tools/call` needs the `name` of a tool".to_owned()));
        };
        let none = json!({});
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
        // The model reads the result of a call, but not an error of the protocol.
        let outcome = match changed {
            Some(error) => Some(ToolOutcome::failed(format!("nothing was done: {error}"))),
            None => self.tools.call(name, arguments),
        };
        match outcome {
            Some(ToolOutcome { texts, is_error }) => {
                let content: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
                Ok(json!({ "content": content, "isError": is_error }))
            }
            None => {
                let known: Vec<String> = self.tools.list().into_iter().map(|tool| tool.name).collect();
                Err((INVALID_PARAMS, format!("unknown tool `{name}`; the tools are {}", known.join(", "))))
            }
        }
    }
}

/// The reply to a line that is not JSON. The client waits for a reply to its request, so the id is searched separately: the error is
/// usually within one text, such as half of a surrogate pair.
fn unreadable(line: &[u8], error: &serde_json::Error) -> Value {
    /// The parts that are read from a malformed message.
    #[derive(Deserialize)]
    struct MessageIdEnvelope {
        #[serde(default)]
        id: Value,
    }
    let mut why = format!("the line is not JSON: {error}");
    if why.contains("hex escape") {
        why.push_str("; each surrogate needs the other half of its pair");
    }
    let refused = |envelope: MessageIdEnvelope| failure(&envelope.id, PARSE_ERROR, &why);
    match (serde_json::from_slice(line), serde_json::from_slice::<Vec<MessageIdEnvelope>>(line)) {
        (Ok(envelope), _) => refused(envelope),
        (_, Ok(batch)) if (1..=MAX_BATCH).contains(&batch.len()) => batch.into_iter().map(refused).collect(),
        _ => refused(MessageIdEnvelope { id: Value::Null }),
    }
}

/// The client's version if it is supported, otherwise the newest.
fn version(params: &Value) -> &'static str {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let newest = PROTOCOL_VERSIONS[PROTOCOL_VERSIONS.len() - 1];
    PROTOCOL_VERSIONS.into_iter().find(|known| Some(*known) == asked).unwrap_or(newest)
}

fn offered(tool: McpTool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema })
}
