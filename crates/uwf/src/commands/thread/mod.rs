//! `uwf thread …`

pub(crate) mod run;
mod show;
mod start;
mod step;

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
    /// Where a thread stands.
    Show(show::Args),
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Start(args) => start::run(context, args),
        Command::Step(args) => step::run(context, args),
        Command::Run(args) => run::run(context, args),
        Command::Show(args) => show::run(context, &args),
    }
}
