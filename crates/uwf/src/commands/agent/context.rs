//! `uwf agent context`

use agent_kit::AgentContext;
use agent_kit::context_report::ContextReport;
use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_core::prompt::{AnswerForm, StepSection};
use uwf_engine::root::project;

use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Maximum size of the previous steps' outputs and texts. Enough for any thread a person follows; a thread with thousands of long answers
/// must not become one report.
const MAX_STEP_BYTES: usize = 4 << 20;

/// Arguments of `uwf agent context`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  \"$UWF_BIN\" agent context \"$1\" \"$2\" | jq -r .task
  \"$UWF_BIN\" agent context \"$1\" \"$2\" | jq '.steps[-1].output'
  \"$UWF_BIN\" agent context \"$1\" \"$2\" --prompt | some-model
  \"$UWF_BIN\" agent context \"$1\" \"$2\" --step 3     # all of a step that the prompt cuts

One JSON object, also on a terminal: thread, role, workflow, workflowName, attempt, agent, task, input, workspace, description, \
goal, capabilities, procedure, output (the role's, in words), schema (of its output), steps (oldest first: index, hash, \
role, output, text, agent, detail, timestamp in Unix milliseconds), omittedSteps, prompt.")]
pub(crate) struct Args {
    /// The thread.
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// The role to play.
    #[arg(add = ArgValueCompleter::new(complete::roles))]
    role: String,
    /// Print only the prompt, as it is.
    #[arg(long)]
    prompt: bool,
    /// Print only the step at this position of the thread (the first is 1), in full.
    #[arg(long, value_name = "N", conflicts_with_all = ["prompt", "task", "input"])]
    step: Option<usize>,
    /// Print only the task, in full.
    #[arg(long, conflicts_with_all = ["prompt", "input"])]
    task: bool,
    /// Print only the input of the thread, in full, as JSON.
    #[arg(long, conflicts_with = "prompt")]
    input: bool,
    /// The form of answer the prompt asks for.
    #[arg(long, value_enum, default_value_t = AnswerFormArg::Text)]
    answer: AnswerFormArg,
    /// At most this many of the previous steps, the newest.
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    steps: usize,
}

impl Args {
    /// Whether the output is a text instead of an object.
    pub(crate) fn asks_for_text(&self) -> bool {
        self.prompt || self.task || self.input || self.step.is_some()
    }
}

/// How an agent answers.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AnswerFormArg {
    /// Markdown under a YAML header: hand it in with `submit --text`.
    Text,
    /// One JSON value.
    Json,
}

/// Prints the context of an agent.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let agent = AgentContext::load(&context.home, &thread, &args.role)?;
    if let Some(position) = args.step {
        let step = agent.step(position)?;
        return Ok(PrintableReport::value_with_text(json!(step), StepSection::whole(&step).text.trim_start()));
    }
    if args.task {
        let task = agent.task();
        return Ok(PrintableReport::value_with_text(json!({ "task": task }), format!("{}\n", task.trim_end())));
    }
    if args.input {
        let input = json!(agent.input());
        return Ok(PrintableReport::value_with_text(json!({ "input": input }), format!("{input:#}\n")));
    }
    let prompt = prompt(context, &agent, args.answer)?;
    if args.prompt {
        return Ok(PrintableReport::value_with_text(json!({ "prompt": prompt }), prompt));
    }
    let report =
        ContextReport { prompt: Some(prompt), ..ContextReport::without_prompt(&agent, args.steps, MAX_STEP_BYTES)? };
    Ok(PrintableReport::value(json!(report)))
}

fn prompt(context: &CommandContext, agent: &AgentContext<'_>, answer: AnswerFormArg) -> Result<String, CommandError> {
    let form = match answer {
        AnswerFormArg::Text => AnswerForm::Frontmatter,
        AnswerFormArg::Json => AnswerForm::Json,
    };
    let budget = match agent.attempt() {
        Some(attempt) => attempt.opened.prompt_budget,
        None => project::config_here(&context.home)?.limits.prompt_budget,
    };
    Ok(agent.prompt(form, budget)?.text())
}
