//! A whole agent: it counts the words of the task and of what the step before it wrote.
//!
//! In config.yaml, `agents: { words: { command: word_count } }` lets it play any role whose output has the integers
//! `task` and `previous`. uwf calls it with thread and role and takes over the step it stores.

use std::process::ExitCode;

use agent_kit::{AgentAnswer, AgentContext, AgentDescription, Result, create_described_agent};
use serde_json::json;

/// Bytes of earlier texts this agent cares to read.
const ENOUGH: usize = 1 << 20;

fn main() -> ExitCode {
    let description = AgentDescription { capabilities: vec!["offline".to_owned()], ..AgentDescription::default() };
    create_described_agent(description, work)
}

fn work(context: &AgentContext<'_>) -> Result<AgentAnswer> {
    let last = context.newest_steps(1, ENOUGH)?.pop();
    let text = last.and_then(|step| step.message).unwrap_or_default();
    let (task, previous) = (words(context.task()), words(&text));
    Ok(AgentAnswer::value(json!({ "task": task, "previous": previous })))
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}
