//! The agents built into uwf. Each runs as a separate process: `uwf agent run NAME THREAD ROLE`.
//!
//! A separate crate, so that the dependencies of agents (including the HTTP client of the model-backed ones) stay out of
//! the engine: stepper and agent meet only at the process boundary.
//!
//! The built-in agents can be described without starting them, and the traces of coding agents are parsed in each
//! agent's own format:
//!
//! ```
//! use uwf_agents::describe::describe;
//! use uwf_agents::trace::TraceFormat;
//!
//! let human = describe("human").expect("it is built in");
//! assert_eq!(human.capabilities, ["waits-for-a-person", "offline"]);
//!
//! let printed = r#"{"type": "turn", "input": "How many lines?", "output": "There is one line."}"#;
//! assert_eq!(TraceFormat::detect(printed), Some(TraceFormat::Jsonl));
//! assert_eq!(TraceFormat::Jsonl.read(printed).turns[0].output, "There is one line.");
//! ```

pub mod acp;
pub mod advisors;
pub mod agent_choices;
pub mod capabilities;
mod capped_output;
pub mod cas_get;
pub mod check;
pub mod command;
pub mod cursor;
pub mod describe;
pub mod documents;
pub mod extractor;
pub mod hermes;
pub mod human;
mod last_call;
pub mod llm;
pub mod mock;
pub mod model;
mod model_exchange;
mod model_hints;
pub mod orphan_answer;
pub mod partial_output;
mod play_group;
pub mod probe;
mod program;
pub mod progress;
pub mod react;
pub mod ready;
pub mod reextract;
pub mod sandbox;
mod settings;
pub mod trace;
mod turn_end;
pub mod workflow;

use agent_kit::{
    Agent, AgentContext,
    play::{self, play},
};
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::advisors::{SUMMARY, SUPERVISOR};
use uwf_engine::attempt::agents;
use uwf_engine::error::{Error, Result};
use uwf_engine::root::home::Home;

use extractor::LlmExtractor;
use sandbox::reporting::ReportingAgent;

/// Names of the built-in agents.
pub const NAMES: [&str; 11] = agents::BUILT_IN;

/// Runs a built-in agent for a role of a thread; prints the `StepNode`'s hash.
///
/// # Errors
/// `Config` for an unknown name, and errors of the agent.
pub fn run(home: &Home, name: &str, thread: &ThreadId, role: &str) -> Result<()> {
    if let Some(agent) = player(name) {
        let mut agent = ReportingAgent(agent);
        return play(home, thread, role, &mut agent, Some(&mut LlmExtractor::new(home)));
    }
    match name {
        agents::HUMAN => human::run(home, thread, role),
        agents::WORKFLOW => workflow::run(home, thread, role),
        agents::PLAY => play_group::run(home, thread, role),
        // Agents that only the engine starts. They play no role.
        uwf_engine::attempt::partial_output::AGENT => partial_output::run(home, thread, role),
        SUPERVISOR => advisors::supervise(home, thread, role),
        SUMMARY => advisors::summarise(home, thread, role),
        other => Err(unknown(other)),
    }
}

/// Input of an agent for a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInput {
    /// The system message before the prompt, if there is one.
    pub system: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The session of an earlier visit that it continues, if that session still exists.
    pub session: Option<String>,
}

/// The input that the agent of the context's attempt gets, created where the step creates it; for a person, the question. A program that is
/// its own agent asks for its prompt, so this is what `uwf agent context --prompt` prints.
///
/// # Errors
/// `Usage` outside an attempt, `Config` for an unknown agent, and errors of the context and of the agent's settings.
pub fn sent(context: &AgentContext<'_>) -> Result<AgentInput> {
    let opened = context.opened()?;
    let Some(name) = opened.agent.played_by() else {
        let prompt = context.prompt(AnswerForm::Frontmatter, context.prompt_budget())?.text();
        return Ok(AgentInput { system: None, prompt, session: None });
    };
    if let Some(mut agent) = player(name) {
        let play::StepPrompt { prompt, session } = play::prompt(context, agent.as_mut())?;
        return Ok(AgentInput { system: agent.system(context)?, prompt: prompt.text(), session });
    }
    let prompt = match name {
        agents::HUMAN => human::question(context),
        agents::WORKFLOW => workflow::prompt(context, opened)?,
        agents::PLAY => play_group::tasks(context, opened)?,
        other => return Err(unknown(other)),
    };
    Ok(AgentInput { system: None, prompt, session: None })
}

/// The built-in agent with this name, if it answers prompts.
fn player(name: &str) -> Option<Box<dyn Agent>> {
    Some(match name {
        "acp" => Box::new(acp::AcpAgent::new()),
        "command" => Box::new(command::CommandAgent::default()),
        "cursor" => Box::new(cursor::CursorAgent::default()),
        agents::EXIT => Box::new(command::exit::ExitAgent::default()),
        "docx-diff" => Box::new(documents::diff::DiffAgent::default()),
        "hermes" => Box::new(hermes::HermesAgent::default()),
        "llm" => Box::new(llm::LlmAgent::default()),
        "mock" => Box::new(mock::MockAgent::default()),
        "office" => Box::new(documents::office::OfficeAgent::default()),
        "react" => Box::new(react::ReactAgent::default()),
        uwf_engine::attempt::agents::REEXTRACT => Box::new(reextract::ReextractAgent),
        _ => return None,
    })
}

fn unknown(name: &str) -> Error {
    Error::config(format!("`{name}` is not a built-in agent"))
        .hint(format!("built-in agents: {}; any program on PATH also works as an agent", NAMES.join(", ")))
}
