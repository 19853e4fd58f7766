//! The agents built into uwf, each a process of its own: `uwf agent run NAME THREAD ROLE`.
//!
//! It is a crate of its own so that what an agent needs (and later the HTTP client of the model-backed ones) stays out
//! of the engine: stepper and agent meet only at the process boundary.

pub mod command;
pub mod describe;
pub mod excerpt;
pub mod extractor;
pub mod llm;
pub mod mock;
pub mod model;
pub mod node_text;
pub mod progress;
pub mod react;
pub mod settings;

use agent_kit::{Agent, play};
use uwf_core::thread::ThreadId;
use uwf_engine::error::{Error, Kind, Result};
use uwf_engine::home::Home;

use extractor::LlmExtractor;

/// Names of the built-in agents.
pub const NAMES: [&str; 4] = ["command", "llm", "mock", "react"];

/// Runs a built-in agent for a role of a thread; prints the StepNode's hash.
///
/// # Errors
/// `Config` for an unknown name, those of the agent.
pub fn run(home: &Home, name: &str, thread: &ThreadId, role: &str) -> Result<()> {
    let mut extractor = LlmExtractor::new(home);
    let mut play = |agent: &mut dyn Agent| play(home, thread, role, agent, Some(&mut extractor));
    match name {
        "command" => play(&mut command::CommandAgent::new(home, thread)?),
        "llm" => play(&mut llm::LlmAgent::default()),
        "mock" => play(&mut mock::MockAgent::new(home, thread)?),
        "react" => play(&mut react::ReactAgent::default()),
        other => Err(Error::new(Kind::Config, format!("there is no built-in agent `{other}`"))
            .hint(format!("built-in agents: {}; any program on PATH is an agent too", NAMES.join(", ")))),
    }
}
