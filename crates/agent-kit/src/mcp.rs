//! The MCP server an agent is given for the time of one step: it hands its result in through the tool `submit`, hears
//! at once what does not fit, and corrects it within its own session.
//!
//! It is part of agent-kit, not of the built-in agents: an agent of anybody that takes MCP servers can be given it
//! ([`launch()`]), and the built-in agents have no other way to it than theirs.
//!
//! [`protocol`] knows the wire and nothing of uwf, [`tools`] knows the step and nothing of the wire, [`stdio`] moves
//! bytes between them.

mod inputs;
pub mod launch;
pub mod protocol;
pub mod stdio;
pub mod tools;

pub use launch::{Launch, launch};
pub use stdio::{serve, serve_tools};

/// Name the server has in an agent's configuration. Agents make it part of the tools' names.
pub const SERVER_NAME: &str = "uwf";

/// Tool that takes the role's output.
pub const SUBMIT: &str = "submit";

/// Tool that returns task, role and steps.
pub const CONTEXT: &str = "context";

/// Tool that reads a node of the store.
pub const CAS_GET: &str = "cas_get";

/// What a prompt says about the server, after everything else: a tool that is not mentioned is not used.
pub const INSTRUCTION: &str = "\n# How to hand in your result\n\n\
You have the tool `submit` of the MCP server `uwf` (its full name may be longer, such as `mcp__uwf__submit`). When your \
work is done, call it with the keys of the header described above as its arguments. It answers whether the values fit; \
when they do not, correct them and call it again: the last call that was accepted counts. Then end with a short text \
for people; it needs no header any more. The tools `context` and `cas_get` of the same server tell task and steps, and \
read a node of the store by its hash; `context` with `step` gives all of a step that is cut above. If there is no such \
tool, answer with the header.\n";
