//! `uwf thread eval`

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::attempt::branch_outlook::BranchOutlook;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::moderate;
use uwf_engine::verbs::start_child;

use super::args::which::NEWEST;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf thread eval`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread eval 7Q2M 'steps[-1].output'\n  uwf thread eval 7Q2M '$count(steps[role = \"coder\"])'\n  uwf thread eval 7Q2M '$last(\"reviewer\").approved'\n\nThe report is the value itself, for pipes. A missing value prints nothing (with a note on stderr; exit 0), as in jq;\na missing value is not null. The expression sees what conditions see: start, steps, $start, $steps,\n$threadId, $depth, $first(ROLE), $last(ROLE), $extractedBy(STEP). For a branch of a group that has no step yet, these are\nof the thread with the group, and item is its item. It has 2 s and 512 MB."
)]
pub(crate) struct Args {
    /// The thread, active or finished: its id, a unique start or end of the id, or @ for the newest, @2 for the one before.
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// The JSONata expression.
    #[arg(allow_hyphen_values = true, required_unless_present = "last", conflicts_with = "last")]
    expression: Option<String>,
    /// The newest thread, like @; give only the expression.
    #[arg(long)]
    last: bool,
}

/// Evaluates an expression.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let (thread, expression) = match &args.expression {
        Some(expression) => (args.thread.as_str(), expression),
        None => (NEWEST, &args.thread),
    };
    if expression.trim().is_empty() {
        return Err(CommandError::usage("the expression is empty").hint("try `steps[-1].output`"));
    }
    let id = context.thread(thread)?;
    let thread = Thread::any(&context.home, &id)?;
    // A branch that has no step sees the steps before its group, and its item.
    let value = match BranchOutlook::for_thread(&thread) {
        Ok(outlook) if thread.last.is_none() => outlook.evaluate(expression)?,
        // Without its settings, a thread is no branch.
        Ok(_) | Err(_) => moderate::evaluate(&thread, expression)?,
    };
    if let Some(value) = value {
        return Ok(PrintableReport::value(value));
    }
    let group = start_child::group_without_step(&thread)?.map(|role| {
        format!(", or the step of group `{role}`, which has not ended: `uwf thread show {id}` shows its branches")
    });
    let group = group.unwrap_or_default();
    context.printer.talk(&format!("note: the expression gives nothing: a value that it reads is missing{group}"));
    Ok(PrintableReport::nothing())
}
