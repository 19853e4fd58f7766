//! JSON-RPC 2.0 over stdio, one message per line, as used by MCP and ACP. Pure; no input makes it panic.

mod lines;

use serde_json::{Value, json};

pub use lines::{MessageLine, MessageLines};

/// The text is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// The JSON is not a request.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonRpcMessage {
    /// Expects a reply.
    Request {
        /// Id to repeat in the reply.
        id: Value,
        /// Name of the method.
        method: String,
        /// Its parameters; null if missing.
        params: Value,
    },
    /// Expects no reply.
    Notification {
        /// Name of the method.
        method: String,
        /// Its parameters; null if missing.
        params: Value,
    },
    /// The reply to a request.
    Reply {
        /// Id of the request; null if the request could not be read.
        id: Value,
        /// The result, or the `error` object.
        result: Result<Value, Value>,
    },
}

impl JsonRpcMessage {
    /// Parses a value as a message.
    ///
    /// # Errors
    /// The value's `id` if it is not a message; null if it has none.
    pub fn from_value(mut value: Value) -> Result<JsonRpcMessage, Value> {
        let Some(fields) = value.as_object_mut() else { return Err(Value::Null) };
        let id = fields.remove("id");
        let params = fields.remove("params").unwrap_or(Value::Null);
        match (fields.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Ok(JsonRpcMessage::Request { id, method, params }),
            (Some(Value::String(method)), None) => Ok(JsonRpcMessage::Notification { method, params }),
            (_, id) => {
                let id = id.unwrap_or_default();
                let error = fields.remove("error").filter(|error| !error.is_null());
                match (error, fields.remove("result")) {
                    (Some(error), _) => Ok(JsonRpcMessage::Reply { id, result: Err(error) }),
                    (None, Some(result)) => Ok(JsonRpcMessage::Reply { id, result: Ok(result) }),
                    (None, None) => Err(id),
                }
            }
        }
    }
}

/// A request.
#[must_use]
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification.
#[must_use]
pub fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The reply to a request.
#[must_use]
pub fn reply(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The reply to a request that failed.
#[must_use]
pub fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
