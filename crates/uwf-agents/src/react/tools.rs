//! The tools a model works with. Each is one file: its name, what the model is told of it, what it does.
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
use serde_json::{Map, Value};

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
    /// Is told what a command prints while it runs.
    pub heard: &'a dyn Fn(&[u8]),
}

/// What a tool answers: what it did, or why it did not.
pub type Answer = Result<String, String>;

/// A tool.
pub trait Tool: Sync {
    /// What the model calls it by.
    fn name(&self) -> &'static str;
    /// What the model is told of it.
    fn description(&self) -> &'static str;
    /// JSON Schema of its arguments.
    fn parameters(&self) -> Value;
    /// Does it.
    ///
    /// # Errors
    /// Why not, in words for the model.
    fn run(&self, scene: &Scene<'_>, arguments: &Map<String, Value>) -> Answer;
}

/// All tools but `submit`, which is the loop's own.
pub const ALL: [&dyn Tool; 5] =
    [&read_file::ReadFile, &write_file::WriteFile, &patch_file::PatchFile, &shell_exec::ShellExec, &cas_get::CasGet];

/// The tool of a name.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    ALL.into_iter().find(|tool| tool.name() == name)
}

/// The arguments as a tool wants them; what is wrong with them is told in words.
fn typed<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(Value::Object(arguments.clone())).map_err(|error| format!("invalid arguments: {error}"))
}
