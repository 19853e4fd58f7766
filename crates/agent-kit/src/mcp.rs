//! The MCP server of one step. The agent submits its result with the tool `submit`, gets the validation errors at once, and can correct the
//! result within its session.
//!
//! It is part of agent-kit, so that every agent that supports MCP servers can use it ([`launch()`]). The built-in agents use it the same
//! way.
//!
//! [`protocol`] knows the protocol and nothing about uwf, [`tools`] knows the step and nothing about the protocol, and [`stdio`] moves
//! bytes between them.

mod inputs;
pub mod launch;
pub mod protocol;
pub mod stdio;
pub mod tools;

pub use launch::{McpServerLaunch, launch};
pub use stdio::{serve, serve_tools};

/// Name of the server in an agent's configuration. Agents make it part of the tools' names.
pub const SERVER_NAME: &str = "uwf";

/// Tool that takes the role's output.
pub const SUBMIT: &str = "submit";

/// Tool that returns task, role and steps.
pub const CONTEXT: &str = "context";

/// Tool that reads a node of the store.
pub const CAS_GET: &str = "cas_get";

/// End of the prompt for an agent that has the server. Models rarely use a tool that the prompt does not mention.
pub const INSTRUCTION: &str = "\n# Submit your result\n\n\
The MCP server `uwf` gives you the tool `submit` (its full name may be longer, such as `mcp__uwf__submit`). When your \
work is done, call it with the keys of the header above as arguments. It reports values that don't fit: correct them \
and call it again. The last accepted call counts. Then end with a short text for people, without a header. The tool \
`context` returns the task and the steps, and with `step` one step in full; `cas_get` reads a node of the store by its \
hash. If you don't have these tools, answer with the header.\n";
