//! `uwf agent context`

use std::path::PathBuf;

use agent_kit::{Context as AgentContext, ToldStep};
use json_cas::Hash;
use serde::Serialize;
use serde_json::{Map, Value};
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_engine::settings::Settings;

use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Format, Printed, Report};

/// Bytes of outputs and texts of previous steps. Enough for any thread people follow; a thread of thousands of long
/// answers must not become one report.
const MAX_STEP_BYTES: usize = 4 << 20;

/// Arguments of `uwf agent context`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  \"$UWF_BIN\" agent context \"$1\" \"$2\" | jq -r .task
  \"$UWF_BIN\" agent context \"$1\" \"$2\" | jq '.steps[-1].output'
  \"$UWF_BIN\" agent context \"$1\" \"$2\" --prompt | some-model

One JSON object, also on a terminal: thread, role, workflow, workflowName, attempt, agent, task, workspace, description, \
goal, capabilities, procedure, output (the role's, in words), schema (of its output), steps (oldest first: index, hash, \
role, output, text, agent, detail, timestamp in Unix milliseconds), omittedSteps, prompt.")]
pub(crate) struct Args {
    /// The thread.
    thread: String,
    /// The role to play.
    role: String,
    /// Print only the prompt, as it is.
    #[arg(long)]
    prompt: bool,
    /// The form of answer the prompt asks for.
    #[arg(long, value_enum, default_value_t = Answer::Text)]
    answer: Answer,
    /// At most this many of the previous steps, the newest.
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    steps: usize,
}

/// How an agent answers.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Answer {
    /// Markdown under a YAML header: hand it in with `submit --text`.
    Text,
    /// One JSON value.
    Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    thread: ThreadId,
    role: String,
    workflow: Hash,
    workflow_name: String,
    /// Absent outside a step.
    attempt: Option<String>,
    /// Absent outside a step.
    agent: Option<Player>,
    task: String,
    workspace: Option<PathBuf>,
    description: String,
    goal: String,
    capabilities: Vec<String>,
    procedure: String,
    output: String,
    schema: Value,
    steps: Vec<ToldStep>,
    omitted_steps: usize,
    prompt: String,
}

/// The agent that plays the role.
#[derive(Serialize)]
struct Player {
    name: String,
    model: Option<String>,
    config: Map<String, Value>,
}

impl Report for Told {
    fn text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    fn preferred(&self) -> Option<Format> {
        Some(Format::Json)
    }
}

#[derive(Serialize)]
struct Prompt {
    prompt: String,
}

impl Report for Prompt {
    fn text(&self) -> String {
        self.prompt.clone()
    }

    fn preferred(&self) -> Option<Format> {
        Some(Format::Text)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let agent = AgentContext::load(&context.home, &thread, &args.role)?;
    let prompt = prompt(context, &agent, args.answer)?;
    if args.prompt {
        return Printed::new(&Prompt { prompt });
    }
    let steps = agent.newest_steps(args.steps, MAX_STEP_BYTES)?;
    let opened = agent.attempt().map(|attempt| &attempt.opened);
    let role = agent.role();
    Printed::new(&Told {
        thread,
        role: args.role.clone(),
        workflow: agent.thread().start.workflow,
        workflow_name: agent.workflow_name().to_owned(),
        attempt: opened.map(|opened| opened.attempt.clone()),
        agent: opened.map(|opened| {
            let spec = &opened.agent;
            Player { name: spec.name.clone(), model: spec.model.clone(), config: spec.config.clone() }
        }),
        task: agent.task().to_owned(),
        workspace: workspace(context, &agent)?,
        description: role.description.clone(),
        goal: role.goal.clone(),
        capabilities: role.capabilities.clone(),
        procedure: role.procedure.clone(),
        output: role.output.clone(),
        schema: agent.schema().value().clone(),
        omitted_steps: agent.step_count()? - steps.len(),
        steps,
        prompt,
    })
}

fn prompt(context: &Context, agent: &AgentContext<'_>, answer: Answer) -> Result<String, CommandError> {
    let form = match answer {
        Answer::Text => AnswerForm::Frontmatter,
        Answer::Json => AnswerForm::Json,
    };
    let budget = match agent.attempt() {
        Some(attempt) => attempt.opened.prompt_budget,
        None => context.home.config()?.limits.prompt_budget,
    };
    Ok(agent.prompt(form, budget)?.text())
}

fn workspace(context: &Context, agent: &AgentContext<'_>) -> Result<Option<PathBuf>, CommandError> {
    if let Some(dir) = agent.workspace() {
        return Ok(Some(dir));
    }
    Ok(Settings::load(&context.home, &agent.thread().id)?.map(|settings| settings.workspace))
}
