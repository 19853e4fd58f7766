//! Descriptions of agents that are not built in, from the configuration or from their program.
//!
//! uwf only asks programs that are known to understand the question: those named `uwf-…` that store their steps
//! themselves, and those for which the configuration allows it. Any other program might take the question for its task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::Builder;

use serde_json::Value;
use uwf_core::config::{
    AgentConfig, AgentDescription, AgentDescriptionSource, DESCRIBE_ARGUMENT, OutputMode, UwfConfig,
};
use uwf_core::text;

use crate::attempt::agents::ask_program::ask;
use crate::attempt::{agents, bindings, program};
use crate::root::cache_file;
use crate::root::file_sign::FileSign;
use crate::root::home::Home;

/// Most characters kept of a version.
const LONGEST_VERSION: usize = 100;

/// Whether uwf asks the program of an agent.
fn is_asked(agent: &AgentConfig) -> bool {
    match &agent.describe {
        Some(AgentDescriptionSource::Asked(is_asked)) => *is_asked,
        Some(AgentDescriptionSource::Given(_)) => false,
        None => {
            let is_own = agent.output == OutputMode::Step && bindings::is_uwf_program(&agent.command);
            is_own && agents::built_in(&agent.command).is_none()
        }
    }
}

/// An agent's description; `None` if it has none. A relative path to its program is below `dir`; without `dir`, such a
/// program is not asked.
///
/// # Errors
/// A message, when the configuration allows asking but the program does not answer.
pub fn describe_agent(
    agent: &AgentConfig,
    dir: Option<&Path>,
    secrets: &BTreeSet<String>,
) -> Option<Result<AgentDescription, String>> {
    if let Some(AgentDescriptionSource::Given(description)) = &agent.describe {
        return Some(Ok(description.clone()));
    }
    let is_relative = agent.command.contains('/') && !agent.command.starts_with('/');
    if !is_asked(agent) || (is_relative && dir.is_none()) {
        return None;
    }
    let program = program::look_up(&agent.command, dir.unwrap_or(Path::new("/"))).ok()?;
    let answered = answer(&program, agent, secrets);
    match (&agent.describe, answered) {
        // A program with such a name need not know the question.
        (None, Err(_)) => None,
        (_, answered) => Some(answered),
    }
}

/// The descriptions of a configuration's agents, by alias. Asks their programs at the same time.
pub fn of_all(config: &UwfConfig, secrets: &BTreeSet<String>) -> BTreeMap<String, Result<AgentDescription, String>> {
    let (asked, others): (Vec<_>, Vec<_>) = config.agents.iter().partition(|(_, agent)| is_asked(agent));
    let described =
        |(alias, agent): (&String, &AgentConfig)| Some((alias.clone(), describe_agent(agent, None, secrets)?));
    let mut descriptions: BTreeMap<_, _> = others.into_iter().filter_map(described).collect();
    std::thread::scope(|scope| {
        // If a thread can't be started, ask this agent here.
        let mut begun = Vec::new();
        for agent in asked {
            match Builder::new().spawn_scoped(scope, move || described(agent)) {
                Ok(thread) => begun.push(thread),
                Err(_) => descriptions.extend(described(agent)),
            }
        }
        descriptions.extend(begun.into_iter().filter_map(|thread| thread.join().ok().flatten()));
    });
    descriptions
}

/// The version in the description of an agent that is not built in; `None` if it has none. `dir` is where the agent
/// works. Each version of a program is asked once, because every step of the agent needs the answer.
pub(crate) fn version(home: &Home, agent: &AgentConfig, dir: &Path, secrets: &BTreeSet<String>) -> Option<String> {
    let ask = || {
        let described = describe_agent(agent, Some(dir), secrets)?.ok()?.version?;
        let version = text::ellipsize(text::one_line(&described).trim(), LONGEST_VERSION).into_owned();
        Some(version).filter(|version| !version.is_empty())
    };
    if !is_asked(agent) {
        return ask();
    }
    let program = program::look_up(&agent.command, dir).ok()?;
    let key = format!("{:?}", (&program, &agent.args, FileSign::from_file(&program)));
    let path = home.described_version(json_cas::xxh64(key.as_bytes()));
    if let Some(known) = cache_file::read(&path).and_then(|known| String::from_utf8(known).ok()) {
        return Some(known).filter(|version| !version.is_empty());
    }
    let version = ask();
    cache_file::write(home, &path, version.as_deref().unwrap_or_default().as_bytes());
    version
}

fn answer(program: &Path, agent: &AgentConfig, secrets: &BTreeSet<String>) -> Result<AgentDescription, String> {
    let args: Vec<String> = agent.args.iter().cloned().chain([DESCRIBE_ARGUMENT.to_owned()]).collect();
    let output = ask(program, &args, secrets).ok_or_else(|| format!("it does not answer {DESCRIBE_ARGUMENT}"))?;
    let not_one = |error: serde_json::Error| format!("its answer to {DESCRIBE_ARGUMENT} is not a description: {error}");
    let value: Value = serde_json::from_slice(&output).map_err(not_one)?;
    serde_json::from_value(value).map_err(not_one)
}
