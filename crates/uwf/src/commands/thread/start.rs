//! `uwf thread start`

mod ask_input;
mod posted;

use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

use serde_json::json;
use uwf_agents::ready;
use uwf_core::input::InputRequest;
use uwf_core::label::ThreadLabels;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::project::{self, ProjectConfig};
use uwf_engine::root::worktree::Worktree;
use uwf_engine::verbs::start;
use uwf_engine::verbs::start::readiness::ReadinessOptions;
use uwf_engine::verbs::workflows::find_workflow::PathTrust;

use crate::commands::thread::args::agents::AgentArgs;
use crate::commands::thread::args::chosen_id::ChosenId;
use crate::commands::thread::args::label::LabelArgs;
use crate::commands::thread::args::limits::LimitArgs;
use crate::commands::thread::args::no_ask::NoAsk;
use crate::commands::thread::args::thread_input::InputArgs;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf thread start`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("no_ask", |arg| arg.help("If values of the input are missing, fail and name them, instead of asking for them at a terminal")),
    after_help = "Examples:\n  uwf thread start solve-issue -p 'Fix #42'\n  uwf thread start ./flow.yaml -p - < task.md\n  uwf thread start release -p 'Release it' --set version=1.2.0 --set dry=true\n  uwf thread start develop -p 'Add dark mode' --cwd ../app --agent coder=codex --max-cost 5\n  uwf thread start develop -p 'Add dark mode' --agent './my-agent.sh --fast' --output json\n  uwf thread start develop -p 'Add dark mode' --worktree      in a git worktree of its own\n  uwf thread start develop -p 'Add dark mode' --label ticket=42"
)]
pub(crate) struct Args {
    /// A workflow: path, name, hash or unique prefix of one.
    #[arg(add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    #[command(flatten)]
    options: StartOptions,
    #[command(flatten)]
    labels: LabelArgs,
    #[command(flatten)]
    no_ask: NoAsk,
    /// Create no thread if its first step cannot begin: for the HTTP API, which runs it at once.
    #[arg(long, hide = true)]
    runs: bool,
    /// Read the task and the input from stdin, as one JSON object: for the HTTP API and the MCP server.
    #[arg(long, hide = true, conflicts_with_all = ["prompt", "set", "input"])]
    posted: bool,
}

/// How a thread is started, shared by `thread start` and `run`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StartOptions {
    /// Task of the thread; `-` reads it from stdin.
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Directory agents work in.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) agents: AgentArgs,
    /// Give the thread a git worktree of its own, on a new branch `uwf/<id>` that begins at the commit checked out here.
    #[arg(long)]
    pub(crate) worktree: bool,
    /// Let agents work in the directory itself, even if the configuration gives threads of this workflow a worktree.
    #[arg(long, conflicts_with = "worktree")]
    pub(crate) no_worktree: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) id: ChosenId,
    /// Labels of the thread; each command has its own option for them.
    #[arg(skip)]
    pub(crate) labels: ThreadLabels,
    /// Whether another program asks for the thread, so that a path is not a person's consent to run the commands of its file.
    #[arg(skip)]
    pub(crate) is_posted: bool,
}

/// Starts a thread without running it.
pub(crate) fn run(context: &CommandContext, mut args: Args) -> CommandResult {
    args.options.labels = args.labels.labels()?;
    args.options.is_posted = args.posted;
    let follows = if args.runs { StartFollowUp::Steps { until: None, steps: None } } else { StartFollowUp::Nothing };
    let started = match args.posted {
        true => begin_task(context, &args.workflow, posted::read()?, args.options, follows)?,
        false => begin(context, &args.workflow, args.options, follows, args.no_ask)?,
    };
    let thread = &started.thread;
    let bold = style::bold(thread.as_str());
    let where_ = started.worktree.as_ref().map(in_worktree).unwrap_or_default();
    let text = format!("started thread {bold}\n{where_}step it with: uwf thread step {thread}\n");
    Ok(PrintableReport::value_with_text(json!(started), text))
}

/// Adds a hint to trust the project's ignored configuration, which may have the missing agents.
fn with_trust_hint(error: CommandError, project: Option<&ProjectConfig>) -> CommandError {
    let ignored = project.filter(|project| error.kind == ErrorKind::Config && project.ignored().is_some());
    match ignored {
        Some(project) => error.hint(format!(
            "or trust the configuration of this project, which is ignored: uwf config trust {}",
            project.dir().display()
        )),
        None => error,
    }
}

/// A line with the worktree of a thread.
pub(super) fn in_worktree(worktree: &Worktree) -> String {
    format!("works in {} on branch {}\n", worktree.dir.display(), worktree.branch)
}

/// Whether steps follow at once after a thread is started.
pub(crate) enum StartFollowUp {
    /// A later command runs the steps.
    Nothing,
    /// The steps follow at once on this machine. If a step that certainly follows can't start, no thread is created.
    Steps {
        /// Role to stop before.
        until: Option<String>,
        /// Number of steps to stop after.
        steps: Option<u64>,
    },
}

/// How far the agents are checked before a run on this machine.
pub(super) fn readiness(until: Option<String>, steps: Option<u64>) -> ReadinessOptions {
    ReadinessOptions { check: ready::check, until, steps }
}

/// The task of a thread, and the values of its input.
pub(crate) struct ThreadTask {
    pub(crate) prompt: String,
    pub(crate) input: InputRequest,
}

/// Starts a thread with these options. Asks a person at the terminal for required values of the input that are missing.
pub(crate) fn begin(
    context: &CommandContext,
    workflow: &str,
    mut options: StartOptions,
    follows: StartFollowUp,
    no_ask: NoAsk,
) -> Result<start::StartReport, CommandError> {
    let task = task(context, workflow, &mut options, no_ask)?;
    begin_task(context, workflow, task, options, follows)
}

/// Takes the task and the input out of options. Asks a person at the terminal for required values of the input that are missing.
pub(crate) fn task(
    context: &CommandContext,
    workflow: &str,
    options: &mut StartOptions,
    no_ask: NoAsk,
) -> Result<ThreadTask, CommandError> {
    if options.prompt.as_deref() == Some("-") && options.input.is_stdin() {
        return Err(CommandError::usage("stdin can't be both the task and the input")
            .hint("put one of them into a file: `--input FILE`, or `-p \"$(cat FILE)\"`"));
    }
    let prompt = match options.prompt.take() {
        Some(dash) if dash == "-" => input::from_stdin()?,
        Some(prompt) => prompt,
        None => {
            return Err(CommandError::usage("the task is missing")
                .hint("use `-p 'TEXT'`, or `-p -` to read the task from stdin"));
        }
    };
    let mut input = std::mem::take(&mut options.input).given()?;
    if no_ask.asks() {
        ask_input::complete(context, workflow, &mut input)?;
    }
    Ok(ThreadTask { prompt, input })
}

/// Checks that a thread could be started with these options, and creates nothing. Prints notes for the person.
pub(crate) fn check_task(
    context: &CommandContext,
    workflow: &str,
    task: ThreadTask,
    options: StartOptions,
    follows: StartFollowUp,
) -> Result<(), CommandError> {
    requested(context, workflow, task, options, follows, |request| {
        Ok(((), start::check(&context.home, request, &context.cwd)?))
    })
}

/// Starts a thread for a task.
pub(crate) fn begin_task(
    context: &CommandContext,
    workflow: &str,
    task: ThreadTask,
    options: StartOptions,
    follows: StartFollowUp,
) -> Result<start::StartReport, CommandError> {
    requested(context, workflow, task, options, follows, |request| {
        let started = start::start(&context.home, request, &context.cwd)?;
        let notes = started.notes.clone();
        Ok((started, notes))
    })
}

/// Builds the request, lets the engine carry it out, and prints the notes for the person.
fn requested<T>(
    context: &CommandContext,
    workflow: &str,
    task: ThreadTask,
    options: StartOptions,
    follows: StartFollowUp,
    carry_out: impl FnOnce(&start::StartRequest) -> Result<(T, Vec<String>), Error>,
) -> Result<T, CommandError> {
    let ThreadTask { prompt, input } = task;
    let workspace = options.cwd.map_or_else(|| context.workspace(), Ok)?;
    let (config, problems, project) = project::checked_config(&context.home, &context.cwd.join(&workspace))?;
    for problem in problems {
        context.printer.warn(&problem.to_string());
    }
    context.name_ignored(project.as_ref());
    let request = start::StartRequest {
        workflow: workflow.to_owned(),
        path_trust: if options.is_posted { PathTrust::Untrusted } else { PathTrust::Trusted },
        prompt,
        input,
        workspace,
        bound: options.agents.bindings(&config)?,
        limits: options.limits.limits(),
        labels: options.labels,
        worktree: match (options.worktree, options.no_worktree) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            (false, false) => None,
        },
        id: options.id.chosen,
        runs: match follows {
            StartFollowUp::Steps { until, steps } => Some(readiness(until, steps)),
            StartFollowUp::Nothing => None,
        },
        strict_limits: options.limits.strict_limits,
    };
    let (done, notes) =
        carry_out(&request).map_err(CommandError::from).map_err(|error| with_trust_hint(error, project.as_ref()))?;
    for note in &notes {
        context.printer.warn(note);
    }
    Ok(done)
}
