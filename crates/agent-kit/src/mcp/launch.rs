//! How an agent starts its step's MCP server.

use serde_json::{Value, json};

use super::SERVER_NAME;
use crate::context::AgentContext;

/// Program, arguments and environment of the server. The server needs nothing from the environment, because agents start MCP servers with
/// any environment they like. The environment has the attempt only to distinguish the processes of a step from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerLaunch {
    /// Name of the server in the agent's configuration.
    pub name: &'static str,
    /// Program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
}

/// Returns the server for the context's attempt; `None` outside an attempt, because a result can't be submitted there.
pub fn launch(context: &AgentContext<'_>) -> Option<McpServerLaunch> {
    let attempt = context.attempt()?.opened.attempt.clone();
    let thread = context.thread();
    let home = thread.home();
    // A custom agent is a program of its own, so the keeper has set the path of uwf.
    let command = std::env::var("UWF_BIN").ok().filter(|bin| !bin.is_empty());
    let command = command.unwrap_or_else(|| home.bin().to_string_lossy().into_owned());
    let root = home.root().to_string_lossy().into_owned();
    let args = ["agent", "mcp", thread.id.as_str(), context.role_name(), "--root", &root, "--attempt", &attempt];
    Some(McpServerLaunch {
        name: SERVER_NAME,
        command,
        args: args.map(str::to_owned).into(),
        env: vec![("UWF_ATTEMPT".to_owned(), attempt.clone())],
    })
}

impl McpServerLaunch {
    /// As an element of `mcpServers` in ACP's `session/new`.
    pub fn acp(&self) -> Value {
        let env: Vec<Value> = self.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "name": self.name, "command": self.command, "args": self.args, "env": env })
    }

    /// As an entry in a mapping from names to servers (`mcpServers` or `mcp_servers`), which most configuration files use.
    pub fn entry(&self) -> Value {
        let env: Value = self.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        json!({ "command": self.command, "args": self.args, "env": env })
    }
}
