//! The tools of the model, one per file: its name, its description for the model, its action.
//!
//! A tool always answers with text: its result, or why it failed, in words the model can act on. A model's request never fails the agent.

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

use super::workspace::ConfinedWorkspace;

/// Context of the tools.
pub struct ReactToolContext<'a> {
    /// The workspace, for files.
    pub workspace: &'a ConfinedWorkspace,
    /// The store, for nodes.
    pub store: &'a Store,
    /// Removes secrets from a command's environment.
    pub prepare: &'a dyn Fn(&mut Command),
    /// Redacts secrets from a text, for the provider and the logs.
    pub clean: &'a dyn Fn(&str) -> String,
    /// Receives the output of a running command.
    pub heard: &'a dyn Fn(&[u8]),
}

/// A tool's answer: its result, or why it failed.
pub type Answer = Result<String, String>;

/// A tool.
pub struct ReactTool {
    /// Its name for the model.
    pub name: &'static str,
    /// Its description for the model.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub parameters: fn() -> Value,
    /// Runs it, or explains to the model why it failed.
    pub run: fn(&ReactToolContext<'_>, &Map<String, Value>) -> Answer,
}

/// All tools except `submit`, which belongs to the loop.
pub const ALL: [ReactTool; 5] =
    [read_file::READ_FILE, write_file::WRITE_FILE, patch_file::PATCH_FILE, shell_exec::SHELL_EXEC, cas_get::CAS_GET];

/// Name of the tool that runs commands.
pub(super) const RUNS_COMMANDS: &str = shell_exec::SHELL_EXEC.name;

/// The tool with this name.
pub fn find(name: &str) -> Option<ReactTool> {
    ALL.into_iter().find(|tool| tool.name == name)
}

/// The JSON Schema of arguments, with these properties and these required ones.
fn arguments(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The arguments in a tool's own type, or a description of what is wrong with them.
fn typed<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(arguments.clone())).map_err(|error| format!("invalid arguments: {error}"))
}
