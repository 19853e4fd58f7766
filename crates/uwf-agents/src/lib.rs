//! The agents built into uwf, each a process of its own: `uwf agent run NAME THREAD ROLE`.
//!
//! It is a crate of its own so that what an agent needs (and later the HTTP client of the model-backed ones) stays out
//! of the engine: stepper and agent meet only at the process boundary.

pub mod acp;
pub mod check;
pub mod choice;
pub mod command;
pub mod cursor;
pub mod describe;
pub mod documents;
pub mod hermes;
pub mod human;
pub mod mock;
pub mod probe;
mod program;
mod settings;
pub mod trace;
pub mod workflow;

use agent_kit::play;
use uwf_core::thread::ThreadId;
use uwf_engine::error::{Error, Kind, Result};
use uwf_engine::home::Home;

/// Names of the built-in agents.
pub const NAMES: [&str; 9] = ["acp", "command", "cursor", "docx-diff", "hermes", "human", "mock", "office", "workflow"];

/// Runs a built-in agent for a role of a thread; prints the StepNode's hash.
///
/// # Errors
/// `Config` for an unknown name, those of the agent.
pub fn run(home: &Home, name: &str, thread: &ThreadId, role: &str) -> Result<()> {
    match name {
        "acp" => play(home, thread, role, &mut acp::AcpAgent::new(), None),
        "command" => play(home, thread, role, &mut command::CommandAgent::new(home, thread)?, None),
        "cursor" => play(home, thread, role, &mut cursor::CursorAgent::new(home, thread)?, None),
        "docx-diff" => play(home, thread, role, &mut documents::diff::DiffAgent::default(), None),
        "hermes" => play(home, thread, role, &mut hermes::HermesAgent::new(home, thread)?, None),
        "human" => human::run(home, thread, role),
        "mock" => play(home, thread, role, &mut mock::MockAgent::new(home, thread)?, None),
        "office" => play(home, thread, role, &mut documents::office::OfficeAgent::default(), None),
        "workflow" => workflow::run(home, thread, role),
        other => Err(Error::new(Kind::Config, format!("there is no built-in agent `{other}`"))
            .hint(format!("built-in agents: {}; any program on PATH is an agent too", NAMES.join(", ")))),
    }
}
