//! How an agent starts the server of its step.

use serde_json::{Value, json};

use super::SERVER_NAME;
use crate::context::AgentContext;

/// Program, arguments and environment of the server. The environment repeats nothing the server needs: agents start
/// MCP servers with whatever environment they like. It carries the attempt only so that the processes of a step can be
/// distinguished from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Name of the server in the agent's configuration.
    pub name: &'static str,
    /// Program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables it is to be given.
    pub env: Vec<(String, String)>,
}

/// The server for the attempt a context belongs to; `None` outside an attempt, where nothing can be handed in.
pub fn launch(context: &AgentContext<'_>) -> Option<Launch> {
    let attempt = context.attempt()?.opened.attempt.clone();
    let thread = context.thread();
    let home = thread.home();
    // An agent of somebody else is a program of its own; the keeper has set which one is uwf.
    let command = std::env::var("UWF_BIN").ok().filter(|bin| !bin.is_empty());
    let command = command.unwrap_or_else(|| home.bin().to_string_lossy().into_owned());
    let root = home.root().to_string_lossy().into_owned();
    let args = ["agent", "mcp", thread.id.as_str(), context.role_name(), "--root", &root, "--attempt", &attempt];
    Some(Launch {
        name: SERVER_NAME,
        command,
        args: args.map(str::to_owned).into(),
        env: vec![("UWF_ATTEMPT".to_owned(), attempt.clone())],
    })
}

impl Launch {
    /// As an item of `mcpServers` in ACP's `session/new`.
    pub fn acp(&self) -> Value {
        let env: Vec<Value> = self.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "name": self.name, "command": self.command, "args": self.args, "env": env })
    }

    /// As an entry of an `mcpServers` (or `mcp_servers`) mapping by name, the form most configuration files have.
    pub fn entry(&self) -> Value {
        let env: Value = self.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        json!({ "command": self.command, "args": self.args, "env": env })
    }
}
