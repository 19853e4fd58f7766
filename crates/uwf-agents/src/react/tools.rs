//! The tools a model works with. Each is one file: its name, its description for the model, what it does.
//!
//! A tool answers with a text either way: what it did, or why it did not, in words the model can act on. Nothing a model
//! asks for is an error of the agent.

mod cas_get;
mod patch_file;
mod read_file;
mod shell_exec;
pub mod submit;
mod write_file;

use std::process::Command;

use json_cas::Store;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::workspace::Workspace;

/// What tools work on.
pub struct Scene<'a> {
    /// Where files are.
    pub workspace: &'a Workspace,
    /// Where nodes are.
    pub store: &'a Store,
    /// Takes from a command what it must not know.
    pub prepare: &'a dyn Fn(&mut Command),
    /// Takes from a text what neither the provider nor a log may know.
    pub clean: &'a dyn Fn(&str) -> String,
    /// Gets what a command prints while it runs.
    pub heard: &'a dyn Fn(&[u8]),
}

/// What a tool answers: what it did, or why it did not.
pub type Answer = Result<String, String>;

/// A tool.
pub struct Tool {
    /// What the model calls it by.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub parameters: fn() -> Value,
    /// Does it, or says in words for the model why not.
    pub run: fn(&Scene<'_>, &Map<String, Value>) -> Answer,
}

/// All tools but `submit`, which is the loop's own.
pub const ALL: [Tool; 5] =
    [read_file::READ_FILE, write_file::WRITE_FILE, patch_file::PATCH_FILE, shell_exec::SHELL_EXEC, cas_get::CAS_GET];

/// The tool of a name.
pub fn find(name: &str) -> Option<Tool> {
    ALL.into_iter().find(|tool| tool.name == name)
}

/// The JSON Schema of arguments: these properties, of which some are required.
fn arguments(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The arguments as a tool wants them, or in words what is wrong with them.
fn typed<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(arguments.clone())).map_err(|error| format!("invalid arguments: {error}"))
}
