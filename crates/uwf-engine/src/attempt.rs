//! One try to have a role played: its record, its agent and that agent's processes, what is kept when it fails.

pub mod advisors;
pub mod agent_process;
pub mod agents;
pub mod bindings;
pub mod delegation;
pub(crate) mod ended;
pub mod environment;
pub mod error;
pub(crate) mod git;
pub mod keeper;
pub mod leftover;
pub mod live_trace;
pub mod newest_attempt;
pub mod partial_output;
pub mod plan;
pub(crate) mod printed;
pub mod processes;
pub mod program;
pub mod recorded;
pub mod recorded_digest;
pub(crate) mod result_line;
pub mod settings;
pub mod snapshot;
pub(crate) mod travel;
pub mod turns;
pub mod worktree;
