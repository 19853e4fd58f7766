//! `uwf thread …`

mod agent_args;
mod answer;
mod eval;
mod fork;
mod kill;
pub(crate) mod list;
mod pause;
pub(crate) mod read;
mod repair;
mod resume;
mod rm;
pub(crate) mod run;
pub(crate) mod show;
mod start;
pub(crate) mod step;
mod step_details;
mod steps;
mod verify;
pub(crate) mod which;

use crate::context::Context;
use crate::on_demand::OnDemand;
use crate::printer::{CommandResult, Format, Stdout};

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Begin a thread. Nothing is executed.
    Start(OnDemand<start::Args>),
    /// Do one step: moderator, agent, extract.
    Step(OnDemand<step::Args>),
    /// Step until the thread is done, waiting, stuck or at a limit.
    Run(OnDemand<run::Args>),
    /// Answer for a role that is played by a person.
    Answer(OnDemand<answer::Args>),
    /// Let no further step of a thread begin.
    Pause(OnDemand<pause::Args>),
    /// Let a paused thread go on.
    Resume(OnDemand<resume::Args>),
    /// Where a thread stands.
    Show(OnDemand<show::Args>),
    /// List threads.
    List(OnDemand<list::Args>),
    /// List the threads that are running.
    #[command(hide = true)]
    Ps(OnDemand<list::Args>),
    /// The steps of a thread with their outputs.
    Steps(OnDemand<steps::Args>),
    /// A thread as a page of markdown, made to be read.
    Read(OnDemand<read::Args>),
    /// Everything about how an output came to be: texts, turns, tool calls, attempts.
    StepDetails(OnDemand<step_details::Args>),
    /// Begin a new thread at an old step.
    Fork(OnDemand<fork::Args>),
    /// Whether a thread is still what was recorded of it: its digests made anew and compared.
    Verify(OnDemand<verify::Args>),
    /// Step past what makes a thread unreadable: sound steps in the place of those that are not.
    Repair(OnDemand<repair::Args>),
    /// End a thread and its running agent.
    Kill(OnDemand<kill::Args>),
    /// Remove a finished thread from the history; no node is deleted.
    Rm(OnDemand<rm::Args>),
    /// What a JSONata expression gives on a thread, for authors of conditions.
    Eval(OnDemand<eval::Args>),
}

impl Command {
    /// What the command writes to stdout.
    pub(crate) fn stdout(&self) -> Stdout {
        match self {
            Command::Read(_) | Command::StepDetails(_) => Stdout::Document(Format::Text),
            _ => Stdout::Report,
        }
    }
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Start(OnDemand(args)) => start::run(context, args),
        Command::Step(OnDemand(args)) => step::run(context, args),
        Command::Run(OnDemand(args)) => run::run(context, args),
        Command::Answer(OnDemand(args)) => answer::run(context, args),
        Command::Pause(OnDemand(args)) => pause::run(context, &args),
        Command::Resume(OnDemand(args)) => resume::run(context, &args),
        Command::Show(OnDemand(args)) => show::run(context, &args),
        Command::List(OnDemand(args)) => list::run(context, &args),
        Command::Ps(OnDemand(args)) => list::running(context, args),
        Command::Steps(OnDemand(args)) => steps::run(context, &args),
        Command::Read(OnDemand(args)) => read::run(context, &args),
        Command::StepDetails(OnDemand(args)) => step_details::run(context, &args),
        Command::Fork(OnDemand(args)) => fork::run(context, &args),
        Command::Verify(OnDemand(args)) => verify::run(context, &args),
        Command::Repair(OnDemand(args)) => repair::run(context, &args),
        Command::Kill(OnDemand(args)) => kill::run(context, &args),
        Command::Rm(OnDemand(args)) => rm::run(context, &args),
        Command::Eval(OnDemand(args)) => eval::run(context, &args),
    }
}
