//! Parses an agent's stdout line by line: protocol messages, and anything else printed between them. Pure, and no input makes it panic.

use agent_kit::json_rpc::{self, METHOD_NOT_FOUND};
use serde_json::Value;
use uwf_core::text::ellipsize;

/// Characters shown of a line that is not a message.
const MAX_SHOWN: usize = 200;

/// One line of an agent's stdout.
#[derive(Debug, Clone, PartialEq)]
pub enum AcpMessage {
    /// A message of the protocol.
    Rpc(json_rpc::JsonRpcMessage),
    /// Any other line: a warning, a banner, debug output.
    Noise(String),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpFailure {
    /// JSON-RPC error code.
    pub code: i64,
    /// The agent's message, details included.
    pub message: String,
}

/// Parses a line; `None` if it is blank.
pub fn read(line: &[u8]) -> Option<AcpMessage> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice::<Value>(line).ok();
    let message = parsed.and_then(|value| json_rpc::JsonRpcMessage::from_value(value).ok());
    Some(message.map_or_else(|| AcpMessage::Noise(shown(line)), AcpMessage::Rpc))
}

/// The number of our request with this id; some agents return it as a string. `None` if we sent no such request.
pub fn request_number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

/// The failure in the `error` of a reply.
pub fn failure(error: &Value) -> AcpFailure {
    let message = error["message"].as_str().unwrap_or("an error without a message");
    let details = match &error["data"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        data => Some(data["details"].as_str().map_or_else(|| data.to_string(), str::to_owned)),
    };
    let message = match details {
        Some(details) if details != message => format!("{message} ({details})"),
        _ => message.to_owned(),
    };
    AcpFailure { code: error["code"].as_i64().unwrap_or_default(), message }
}

fn shown(line: &[u8]) -> String {
    ellipsize(&String::from_utf8_lossy(line), MAX_SHOWN).into_owned()
}

/// The reply to a request for a capability that this client did not announce: files, terminals.
pub fn unsupported(id: &Value, method: &str) -> Value {
    json_rpc::failure(id, METHOD_NOT_FOUND, &format!("`{method}` is not supported by this client"))
}
