//! All that is known about a step to be done, as agents in other languages get it.

use std::path::PathBuf;

use json_cas::Hash;
use serde::Serialize;
use serde_json::{Map, Value};
use uwf_core::thread::{Step, ThreadId};
use uwf_engine::attempt::settings::Settings;
use uwf_engine::error::Result;

use crate::context::AgentContext;

/// Task, role, schema and steps: what `uwf agent context` prints and the MCP tool `context` answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// The thread.
    pub thread: ThreadId,
    /// The role to play.
    pub role: String,
    /// Workflow the thread runs.
    pub workflow: Hash,
    /// Its name.
    pub workflow_name: String,
    /// Id of the attempt; `None` outside a step.
    pub attempt: Option<String>,
    /// Who plays the role; `None` outside a step.
    pub agent: Option<Player>,
    /// What the thread was started with.
    pub task: String,
    /// Directory to work in; `None` when this machine has no record of the thread.
    pub workspace: Option<PathBuf>,
    /// What the role is.
    pub description: String,
    /// What it is to achieve.
    pub goal: String,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// How it goes about it.
    pub procedure: String,
    /// What it delivers, in words.
    pub output: String,
    /// JSON Schema of what it delivers.
    pub schema: Value,
    /// Newest of the previous steps, oldest first.
    pub steps: Vec<Step>,
    /// Steps before those.
    pub omitted_steps: usize,
    /// The prompt, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// The agent that plays the role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Player {
    /// Alias, or the command line as given.
    pub name: String,
    /// Model it is to use.
    pub model: Option<String>,
    /// Settings it understands.
    pub config: Map<String, Value>,
}

impl ContextReport {
    /// The briefing without a prompt: at most `most` of the previous steps, and no more than fit into `bytes` of their
    /// outputs and texts.
    ///
    /// # Errors
    /// Those of the nodes and of the thread's settings.
    pub fn of(context: &AgentContext<'_>, most: usize, bytes: usize) -> Result<ContextReport> {
        let steps = context.newest_steps(most, bytes)?;
        let opened = context.attempt().map(|attempt| &attempt.opened);
        let role = context.role();
        Ok(ContextReport {
            thread: context.thread().id.clone(),
            role: context.role_name().to_owned(),
            workflow: context.thread().start.workflow,
            workflow_name: context.workflow_name().to_owned(),
            attempt: opened.map(|opened| opened.attempt.clone()),
            agent: opened.map(|opened| {
                let spec = &opened.agent;
                Player { name: spec.name.clone(), model: spec.model.clone(), config: spec.config.clone() }
            }),
            task: context.task().to_owned(),
            workspace: workspace(context)?,
            description: role.description.clone(),
            goal: role.goal.clone(),
            capabilities: role.capabilities.clone(),
            procedure: role.procedure.clone(),
            output: role.output.clone(),
            schema: context.schema().value().clone(),
            omitted_steps: context.step_count()? - steps.len(),
            steps,
            prompt: None,
        })
    }
}

fn workspace(context: &AgentContext<'_>) -> Result<Option<PathBuf>> {
    if let Some(dir) = context.workspace() {
        return Ok(Some(dir));
    }
    let thread = context.thread();
    Ok(Settings::load(thread.home(), &thread.id)?.map(|settings| settings.workspace))
}
