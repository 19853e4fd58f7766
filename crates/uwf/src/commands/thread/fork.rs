//! `uwf thread fork`

use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

use serde_json::json;
use uwf_core::input::InputDoor;
use uwf_engine::attempt::bindings::AgentBindings;
use uwf_engine::root::project;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::redo;

use super::args::agents::AgentArgs;
use super::args::chosen_id::ChosenId;
use super::args::label::LabelArgs;
use super::args::limits::LimitArgs;
use super::args::thread_or_node::{self, ThreadOrNode};
use super::args::which::NEWEST;
use super::start::in_worktree;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf thread fork`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread fork 7Q2M                        a second thread at the same head\n  uwf thread fork 7Q2M --from-role coder      before the coder's last turn, so that it plays again\n  uwf thread fork 7Q2M --from-role coder --agent coder=codex\n  uwf thread fork 7Q2M --redo reviews.tests   one branch of a group plays again, the others keep their results\n  uwf thread fork 2XY1PEX26ZD0Y --cwd ../app  at any step of any thread\n  uwf thread fork 7Q2M -p 'Fix #43'           the same workflow and settings with another task\n  uwf thread fork 7Q2M --set dry=true         the same task with another input\n\nOnly the settings are copied: both threads share the workflow and the steps up to the fork. If the thread\nworks in a git worktree and the files of the step were recorded, the new thread gets a worktree with these files."
)]
pub(crate) struct Args {
    /// A thread (its id, a unique start or end of the id, @ for the newest), or a step (its hash, or a unique start of the hash).
    #[arg(value_name = "THREAD|HASH", required_unless_present = "last", conflicts_with = "last")]
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    from: Option<String>,
    /// The newest thread, like @.
    #[arg(long)]
    last: bool,
    /// Fork before the last time this role was played.
    #[arg(long, value_name = "ROLE")]
    #[arg(add = ArgValueCompleter::new(complete::roles))]
    from_role: Option<String>,
    /// Play one branch of a finished group again; the other branches keep their results.
    #[arg(long, value_name = "GROUP.BRANCH", conflicts_with_all = ["from_role", "prompt", "set", "chosen"])]
    redo: Option<String>,
    /// Another task, for a fork at the start of a thread; `-` reads it from stdin.
    #[arg(short, long, value_name = "PROMPT", conflicts_with = "from_role", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Another value of the workflow's input, for a fork at the start of a thread. Repeat for several.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "from_role")]
    set: Vec<String>,
    /// The changes come from a request of the HTTP API, whose words messages use.
    #[arg(long, hide = true)]
    requested: bool,
    /// Directory the new thread's agents work in. Default: the thread's directory, or for a step the current
    /// directory; a worktree of its own if the files of the step were recorded.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// The limits of the new thread; what was used before the fork counts.
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    labels: LabelArgs,
    /// Agents of the new thread, from the fork on.
    #[command(flatten)]
    agents: AgentArgs,
    #[command(flatten)]
    id: ChosenId,
}

/// Forks a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(input::from_stdin()?),
        prompt => prompt.map(str::to_owned),
    };
    let changes = ForkChanges {
        workspace: args.cwd.clone(),
        limits: args.limits.limits(),
        strict_limits: args.limits.strict_limits,
        id: args.id.chosen.clone(),
        prompt,
        set: args.set.clone(),
        door: if args.requested { InputDoor::Request } else { InputDoor::CommandLine },
        labels: args.labels.labels()?,
        bound: match args.agents.agents.is_empty() {
            true => AgentBindings::default(),
            false => args.agents.clone().bindings(&project::config(&context.home, &context.cwd)?)?,
        },
    };
    let forked = match (thread_or_node::find(context, args.from.as_deref().unwrap_or(NEWEST))?, &args.from_role) {
        (ThreadOrNode::Thread(thread), None) if let Some(branch) = &args.redo => {
            redo::redo(&context.home, &thread, branch, &changes, &context.cwd)?
        }
        (ThreadOrNode::Node(node), _) if args.redo.is_some() => {
            return Err(CommandError::usage(format!("--redo needs a thread, {node} is a node")));
        }
        (ThreadOrNode::Thread(thread), role) => {
            fork::thread(&context.home, &thread, role.as_deref(), &changes, &context.cwd)?
        }
        (ThreadOrNode::Node(node), None) => fork::at_node(&context.home, node, &changes, &context.cwd)?,
        (ThreadOrNode::Node(node), Some(_)) => {
            return Err(CommandError::usage(format!("--from-role needs a thread, {node} is a node")).hint(
                "the step before that role's turn can be forked by its hash: `uwf thread steps THREAD` lists them",
            ));
        }
    };
    forked.notes.iter().for_each(|note| context.printer.warn(note));
    let (thread, step) = (&forked.thread, forked.forked_from.step);
    let bold = style::bold(thread.as_str());
    let where_ = forked.worktree.as_ref().map(in_worktree).unwrap_or_default();
    let text = format!("forked thread {bold} at {step}\n{where_}step it with: uwf thread step {thread}\n");
    Ok(PrintableReport::value_with_text(json!(forked), text))
}
