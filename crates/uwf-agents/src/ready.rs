//! Checks before the start whether an agent can begin on this machine: its settings, its model with key, and its program. A step would
//! report the same, but only after the steps before it were paid for.

use std::path::Path;

use agent_kit::Result;
use uwf_core::config::UwfConfig;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::program::look_up;
use uwf_engine::root::home::Home;

use crate::describe::describe;
use crate::{acp, command, cursor, documents, hermes, llm, mock, model, react, settings, workflow};

/// Checks that an agent can begin in this directory. While the directory is unknown, programs below it are not checked.
pub fn check(home: &Home, config: &UwfConfig, spec: &AgentSpec, dir: Option<&Path>) -> Result<()> {
    let program = match spec.played_by() {
        Some("llm") => {
            return settings::read::<llm::LlmAgentSettings>(spec).and_then(|_| has_model(home, config, spec));
        }
        Some("react") => {
            return settings::read::<react::ReactAgentSettings>(spec).and_then(|_| has_model(home, config, spec));
        }
        Some("workflow") => return workflow::check(spec),
        Some("mock") => return mock::check(home, spec),
        Some("acp") => acp::settings::AcpLaunch::from_spec(spec)?.command,
        Some("cursor") => settings::read::<cursor::CursorAgentSettings>(spec)?.command,
        Some("hermes") => settings::read::<hermes::installed::HermesSettings>(spec)?.command,
        Some("office") => documents::program(spec, documents::office::COMMAND)?,
        Some("docx-diff") => documents::program(spec, documents::diff::COMMAND)?,
        Some("command") => {
            command::check(spec)?;
            spec.command.clone()
        }
        Some(name) => return describe(name).map_or(Ok(()), |description| settings::check(spec, description.wrong)),
        None => spec.command.clone(),
    };
    let is_below = program.contains('/') && !program.starts_with('/');
    match look_up(&program, dir.unwrap_or(Path::new("/"))) {
        Err(why) if dir.is_some() || !is_below => Err(why.refusal(&program)),
        _ => Ok(()),
    }
}

fn has_model(home: &Home, config: &UwfConfig, spec: &AgentSpec) -> Result<()> {
    model::endpoint(home, config, spec.model.as_deref()).map(drop)
}
