//! `uwf thread …`

pub(crate) mod answer;
pub(crate) mod args;
pub(crate) mod cost;
mod diff;
mod eval;
mod fork;
mod kill;
mod label;
mod limit;
pub(crate) mod list;
pub(crate) mod live;
mod merge;
mod pause;
pub(crate) mod ps;
pub(crate) mod read;
mod repair;
mod resume;
mod retry;
mod rm;
pub(crate) mod run;
mod several;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod step;
mod step_details;
mod steps;
mod take;
mod verify;
mod why;

#[cfg(feature = "temporal")]
use uwf_temporal::TemporalAction;

use crate::context::CommandContext;
use crate::printer::{CommandResult, ReportFormat, StdoutContent};
#[cfg(feature = "temporal")]
use crate::temporal;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a thread without running it.
    Start(start::Args),
    /// Run one step: choose the role, run its agent, read the answer.
    Step(step::Args),
    /// Step until the thread is done, waiting, stuck or at a limit.
    Run(Box<run::Args>),
    /// Repeat a step whose last attempt failed.
    Retry(retry::Args),
    /// Answer as the person who plays a role, or reply to an agent's question.
    Answer(answer::Args),
    /// Pick the best copy of a group.
    Take(take::Args),
    /// Pause a thread.
    Pause(pause::Args),
    /// Resume a paused thread.
    Resume(resume::Args),
    /// Show or change the limits of a thread.
    Limit(limit::Args),
    /// Show or change the labels of threads.
    Label(label::Args),
    /// Show the state of a thread.
    Show(show::Args),
    /// Follow a thread live: its steps, and the running agent's text and tool calls.
    Live(live::Args),
    /// List threads.
    #[command(alias = "ls")]
    List(list::Args),
    /// List running steps: role, agent, start, last activity, tokens.
    Ps(ps::Args),
    /// List the steps of a thread with their outputs.
    Steps(steps::Args),
    /// Print a thread as a Markdown page.
    Read(read::Args),
    /// Show how an output was made: texts, turns, tool calls, attempts.
    StepDetails(step_details::Args),
    /// Explain a step: each transition that was tried, the values its condition read, how the output was obtained.
    Why(why::Args),
    /// Show what threads cost: tokens, money, time, failed attempts.
    Cost(cost::Args),
    /// Fork a thread at an earlier step.
    Fork(fork::Args),
    /// Compare outputs and files of two steps or two threads.
    Diff(diff::Args),
    /// Merge a thread's git worktree into the branch checked out here.
    Merge(merge::Args),
    /// Check a thread against its recorded digests.
    Verify(verify::Args),
    /// Replace unreadable steps so that the thread can continue.
    Repair(repair::Args),
    /// End a thread and its running agent.
    Kill(kill::Args),
    /// Remove a finished thread from the history; no node is deleted.
    Rm(rm::Args),
    /// Evaluate a JSONata expression on a thread.
    Eval(eval::Args),
}

impl Command {
    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        match self {
            Command::Read(_) | Command::StepDetails(_) | Command::Diff(_) => {
                StdoutContent::Document(ReportFormat::Text)
            }
            _ => StdoutContent::Report,
        }
    }

    /// The call that Temporal gets after this command, if Temporal runs the thread.
    #[cfg(feature = "temporal")]
    fn call(&self) -> Option<TemporalAction> {
        match self {
            Command::Answer(_) | Command::Take(_) | Command::Retry(_) => Some(TemporalAction::Answer),
            Command::Limit(args) => args.changes_any().then_some(TemporalAction::Answer),
            Command::Pause(_) => Some(TemporalAction::Pause),
            Command::Resume(_) => Some(TemporalAction::Resume),
            Command::Kill(_) => Some(TemporalAction::Kill),
            _ => None,
        }
    }
}

/// Runs a command of the group, and notifies Temporal if it runs the thread.
#[cfg(feature = "temporal")]
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    let call = command.call();
    let done = run_here(context, command)?;
    for thread in call.iter().flat_map(|_| context.changed_threads()) {
        call.into_iter().for_each(|call| temporal::notify_temporal(context, &thread, call));
    }
    Ok(done)
}

/// Runs a command of the group.
#[cfg(not(feature = "temporal"))]
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    run_here(context, command)
}

fn run_here(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Start(args) => start::run(context, args),
        Command::Step(args) => step::run(context, args),
        Command::Run(args) => run::run(context, *args),
        Command::Retry(args) => retry::run(context, &args),
        Command::Answer(args) => answer::run(context, args),
        Command::Take(args) => take::run(context, &args),
        Command::Pause(args) => pause::run(context, &args),
        Command::Resume(args) => resume::run(context, &args),
        Command::Limit(args) => limit::run(context, &args),
        Command::Label(args) => label::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::Live(args) => live::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Ps(args) => ps::run(context, &args),
        Command::Steps(args) => steps::run(context, &args),
        Command::Read(args) => read::run(context, &args),
        Command::StepDetails(args) => step_details::run(context, &args),
        Command::Why(args) => why::run(context, &args),
        Command::Cost(args) => cost::run(context, &args),
        Command::Fork(args) => fork::run(context, &args),
        Command::Diff(args) => diff::run(context, &args),
        Command::Merge(args) => merge::run(context, &args),
        Command::Verify(args) => verify::run(context, &args),
        Command::Repair(args) => repair::run(context, &args),
        Command::Kill(args) => kill::run(context, &args),
        Command::Rm(args) => rm::run(context, args),
        Command::Eval(args) => eval::run(context, &args),
    }
}
