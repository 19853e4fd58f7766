//! `uwf thread …`

mod answer;
mod eval;
mod fork;
mod kill;
mod list;
mod pause;
mod read;
mod resume;
mod rm;
pub(crate) mod run;
mod show;
mod start;
mod step;
mod step_details;
mod steps;

use crate::context::Context;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Begin a thread. Nothing is executed.
    Start(start::Args),
    /// Do one step: moderator, agent, extract.
    Step(step::Args),
    /// Step until the thread is done, waiting, stuck or at a limit.
    Run(run::Args),
    /// Answer for a role that is played by a person.
    Answer(answer::Args),
    /// Let no further step of a thread begin.
    Pause(pause::Args),
    /// Let a paused thread go on.
    Resume(resume::Args),
    /// Where a thread stands.
    Show(show::Args),
    /// List threads.
    List(list::Args),
    /// The steps of a thread with their outputs.
    Steps(steps::Args),
    /// A thread as a page of markdown, made to be read.
    Read(read::Args),
    /// Everything about how an output came to be: texts, turns, tool calls, attempts.
    StepDetails(step_details::Args),
    /// Begin a new thread at an old step.
    Fork(fork::Args),
    /// End a thread and its running agent.
    Kill(kill::Args),
    /// Remove a finished thread from the history; no node is deleted.
    Rm(rm::Args),
    /// What a JSONata expression gives on a thread, for authors of conditions.
    Eval(eval::Args),
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Start(args) => start::run(context, args),
        Command::Step(args) => step::run(context, args),
        Command::Run(args) => run::run(context, args),
        Command::Answer(args) => answer::run(context, args),
        Command::Pause(args) => pause::run(context, &args),
        Command::Resume(args) => resume::run(context, &args),
        Command::Show(args) => show::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Steps(args) => steps::run(context, &args),
        Command::Read(args) => read::run(context, &args),
        Command::StepDetails(args) => step_details::run(context, &args),
        Command::Fork(args) => fork::run(context, &args),
        Command::Kill(args) => kill::run(context, &args),
        Command::Rm(args) => rm::run(context, &args),
        Command::Eval(args) => eval::run(context, &args),
    }
}
