//! The agents built into uwf, each a process of its own: `uwf agent run NAME THREAD ROLE`.
//!
//! It is a crate of its own so that what an agent needs (the HTTP client of the model-backed ones too) stays out of
//! the engine: stepper and agent meet only at the process boundary.

pub mod acp;
pub mod advisors;
pub mod check;
pub mod choice;
pub mod command;
pub mod cursor;
pub mod describe;
pub mod documents;
pub mod excerpt;
pub mod extractor;
pub mod hermes;
pub mod human;
pub mod llm;
pub mod mock;
pub mod model;
pub mod node_text;
pub mod probe;
mod program;
pub mod progress;
pub mod react;
pub mod reextract;
mod settings;
pub mod trace;
pub mod workflow;

use agent_kit::{Agent, play};
use uwf_core::thread::ThreadId;
use uwf_engine::advisors::{SUMMARY, SUPERVISOR};
use uwf_engine::error::{Error, Kind, Result};
use uwf_engine::home::Home;

use extractor::LlmExtractor;

/// Names of the built-in agents.
pub const NAMES: [&str; 11] =
    ["acp", "command", "cursor", "docx-diff", "hermes", "human", "llm", "mock", "office", "react", "workflow"];

/// Runs a built-in agent for a role of a thread; prints the StepNode's hash.
///
/// # Errors
/// `Config` for an unknown name, those of the agent.
pub fn run(home: &Home, name: &str, thread: &ThreadId, role: &str) -> Result<()> {
    let mut extractor = LlmExtractor::new(home);
    let mut play = |agent: &mut dyn Agent| play(home, thread, role, agent, Some(&mut extractor));
    match name {
        "acp" => play(&mut acp::AcpAgent::new()),
        "command" => play(&mut command::CommandAgent::default()),
        "cursor" => play(&mut cursor::CursorAgent::default()),
        "docx-diff" => play(&mut documents::diff::DiffAgent::default()),
        "hermes" => play(&mut hermes::HermesAgent::default()),
        "human" => human::run(home, thread, role),
        "llm" => play(&mut llm::LlmAgent::default()),
        "mock" => play(&mut mock::MockAgent::default()),
        "office" => play(&mut documents::office::OfficeAgent::default()),
        "react" => play(&mut react::ReactAgent::default()),
        "workflow" => workflow::run(home, thread, role),
        // Those only the engine starts: they play no role of their own.
        uwf_engine::reextract::AGENT => play(&mut reextract::ReextractAgent::default()),
        SUPERVISOR => advisors::supervise(home, thread, role),
        SUMMARY => advisors::summarise(home, thread, role),
        other => Err(Error::new(Kind::Config, format!("there is no built-in agent `{other}`"))
            .hint(format!("built-in agents: {}; any program on PATH is an agent too", NAMES.join(", ")))),
    }
}
