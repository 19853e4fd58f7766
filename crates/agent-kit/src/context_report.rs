//! All data about the next step, for agents in other languages.

use std::path::PathBuf;

use json_cas::NodeHash;
use serde::Serialize;
use serde_json::{Map, Value};
use uwf_core::thread::{Step, ThreadId};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::Result;

use crate::context::AgentContext;

/// Task, role, schema and steps, as printed by `uwf agent context` and returned by the MCP tool `context`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// The thread.
    pub thread: ThreadId,
    /// The role to play.
    pub role: String,
    /// Workflow the thread runs.
    pub workflow: NodeHash,
    /// Its name.
    pub workflow_name: String,
    /// Id of the attempt; `None` outside an attempt.
    pub attempt: Option<String>,
    /// Agent that plays the role; `None` outside an attempt.
    pub agent: Option<ContextReportAgent>,
    /// The thread's task.
    pub task: String,
    /// The thread's input, if its workflow has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Directory to work in; `None` if this machine has no record of the thread.
    pub workspace: Option<PathBuf>,
    /// The role's description.
    pub description: String,
    /// The role's goal.
    pub goal: String,
    /// The role's capabilities.
    pub capabilities: Vec<String>,
    /// The role's procedure.
    pub procedure: String,
    /// The role's output, in words.
    pub output: String,
    /// JSON Schema of the output.
    pub schema: Value,
    /// Newest previous steps, oldest first.
    pub steps: Vec<Step>,
    /// Number of steps before `steps`.
    pub omitted_steps: usize,
    /// The prompt, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// The agent that plays the role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextReportAgent {
    /// Alias, or the command line.
    pub name: String,
    /// Model to use.
    pub model: Option<String>,
    /// Settings for the agent.
    pub config: Map<String, Value>,
}

impl ContextReport {
    /// Returns the report without a prompt: at most `most` previous steps, with at most `bytes` of outputs and texts.
    ///
    /// # Errors
    /// The nodes or the thread's settings can't be read.
    pub fn without_prompt(context: &AgentContext<'_>, most: usize, bytes: usize) -> Result<ContextReport> {
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
                ContextReportAgent { name: spec.name.clone(), model: spec.model.clone(), config: spec.config.clone() }
            }),
            task: context.task().to_owned(),
            input: context.input().cloned(),
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
    Ok(ThreadSettings::load(thread.home(), &thread.id)?.map(|settings| settings.workspace))
}
