//! `uwf agent …`

mod run;

use std::ffi::OsString;
use std::path::Path;

use uwf_engine::agents::BUILT_IN_PREFIX;

use crate::context::Context;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Be a built-in agent for a role of a thread. `uwf thread step` does this.
    Run(run::Args),
}

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Run(args) => run::run(context, &args),
    }
}

/// A link to uwf that is named `uwf-<agent>` is that agent.
pub(crate) fn by_program_name(args: Vec<OsString>) -> Vec<OsString> {
    let name = args.first().and_then(|program| Path::new(program).file_name()?.to_str()?.strip_prefix(BUILT_IN_PREFIX).map(str::to_owned));
    match name {
        Some(name) => {
            let prefix = ["uwf", "agent", "run", &name].map(OsString::from);
            prefix.into_iter().chain(args.into_iter().skip(1)).collect()
        }
        None => args,
    }
}
