//! What an agent prints, line by line: messages of the protocol, and whatever else gets in between. Pure, and no bytes
//! make it panic.

use agent_kit::json_rpc::{self, METHOD_NOT_FOUND};
use serde_json::Value;
use uwf_core::text::ellipsize;

/// Characters that are shown of a line that is no message.
const MAX_SHOWN: usize = 200;

/// One line of an agent's stdout.
#[derive(Debug, Clone, PartialEq)]
pub enum AcpMessage {
    /// The reply to a request of ours.
    Reply {
        /// Number of the request; `None` when it is none of ours.
        id: Option<u64>,
        /// What came of it.
        result: Result<Value, AcpFailure>,
    },
    /// A request of the agent.
    Request {
        /// To be repeated in the reply.
        id: Value,
        /// What it wants.
        method: String,
        /// With which parameters.
        params: Value,
    },
    /// Something the agent tells.
    Notification {
        /// About what.
        method: String,
        /// What it says.
        params: Value,
    },
    /// Not of the protocol: a warning, a banner, a debugging line.
    Noise(String),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpFailure {
    /// JSON-RPC error code.
    pub code: i64,
    /// What the agent says about it, details included.
    pub told: String,
}

/// Reads a line; `None` when it is blank.
pub fn read(line: &[u8]) -> Option<AcpMessage> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice::<Value>(line).ok();
    Some(parsed.and_then(message).unwrap_or_else(|| AcpMessage::Noise(shown(line))))
}

fn message(value: Value) -> Option<AcpMessage> {
    Some(match json_rpc::Message::of(value).ok()? {
        json_rpc::Message::Request { id, method, params } => AcpMessage::Request { id, method, params },
        json_rpc::Message::Notification { method, params } => AcpMessage::Notification { method, params },
        json_rpc::Message::Reply { id, result } => {
            AcpMessage::Reply { id: number(&id), result: result.map_err(|error| failure(&error)) }
        }
    })
}

/// Some agents give a number back as a text.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn failure(error: &Value) -> AcpFailure {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
    let details = match error.get("data") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(data) => Some(data.get("details").and_then(Value::as_str).map_or_else(|| data.to_string(), str::to_owned)),
    };
    let told = match details {
        Some(details) if details != message => format!("{message} ({details})"),
        _ => message.to_owned(),
    };
    AcpFailure { code: error.get("code").and_then(Value::as_i64).unwrap_or_default(), told }
}

fn shown(line: &[u8]) -> String {
    ellipsize(&String::from_utf8_lossy(line), MAX_SHOWN).into_owned()
}

/// The reply to a request for something this client does not do, and never said it did: files, terminals.
pub fn unsupported(id: &Value, method: &str) -> Value {
    let told = format!("`{method}` is not supported by this client");
    json_rpc::failure(id, METHOD_NOT_FOUND, &told)
}
