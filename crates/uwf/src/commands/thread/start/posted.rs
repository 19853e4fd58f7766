//! A task with its input as one JSON object, as the HTTP API and the MCP server pass it on stdin: an argument may be too short for it.

use serde::Deserialize;
use serde_json::Value;
use uwf_core::input::{InputDoor, InputRequest, InputValues};
use uwf_engine::error::ErrorKind;

use super::ThreadTask;
use crate::commands::thread::args::thread_input;
use crate::error::CommandError;
use crate::input;

/// The object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartBody {
    prompt: String,
    /// The values, or a text of YAML or JSON.
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    set: Vec<String>,
}

/// Reads the object from stdin.
///
/// # Errors
/// `Data` if it is malformed.
pub(super) fn read() -> Result<ThreadTask, CommandError> {
    let value = input::parse(&input::from_stdin()?, "stdin")?;
    let StartBody { prompt, input, set } =
        serde_json::from_value(value).map_err(|error| CommandError::new(ErrorKind::Data, format!("stdin: {error}")))?;
    let values = match input {
        None => None,
        Some(Value::String(text)) => Some(thread_input::document(&text, "input")?),
        Some(value) => Some(InputValues::Value { value, origin: "input".to_owned() }),
    };
    Ok(ThreadTask { prompt, input: InputRequest { values, set, door: InputDoor::Request } })
}
