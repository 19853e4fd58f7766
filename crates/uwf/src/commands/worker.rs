//! `uwf worker`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::attempt::settings;

use crate::complete;
use crate::context::Context;
use crate::duration;
use crate::engine::{self, Addressed, Engine, Work};
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed};

/// Arguments of `uwf worker`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf worker --engine temporal --address temporal.example:7233 --max-agents 4
  uwf worker --engine temporal --agent claude --agent codex     only steps that these play
  uwf thread run --on temporal 7Q2M                             gives a thread to the workers

A worker connects to the server, so this machine accepts no connections. It runs threads of its store. On TERM or Ctrl-C it
takes no more steps and lets running steps finish within --drain. Steps that still run then, or at a second signal, are ended
and taken by another worker. Set an API key in TEMPORAL_API_KEY, because other users can see arguments.")]
pub(crate) struct Args {
    /// The engine that says what there is to do.
    #[arg(long, value_name = "ENGINE")]
    engine: Engine,
    #[command(flatten)]
    addressed: Addressed,
    /// Most agents at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    max_agents: u16,
    /// An agent this machine has, may be repeated; by default all that config.yaml declares.
    #[arg(long = "agent", value_name = "NAME", add = ArgValueCompleter::new(complete::agents))]
    agents: Vec<String>,
    /// Directory where agents of threads work that began on other machines; for worktrees that travel, a
    /// clone of their repository. By default the current one.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// Time that running steps may take after TERM.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration::given)]
    drain: Duration,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: Args) -> CommandResult {
    let Args { engine: Engine::Temporal, addressed, max_agents, agents, cwd, drain } = args;
    let cwd = cwd.map(|dir| directory(context, &dir)).transpose()?;
    engine::work(context, addressed, Work { agents, max_agents: usize::from(max_agents), cwd, drain })?;
    Ok(Printed::nothing())
}

/// The directory that `--cwd` names.
fn directory(context: &Context, dir: &Path) -> Result<PathBuf, CommandError> {
    if !context.cwd.join(dir).is_dir() {
        return Err(CommandError::usage(format!("--cwd {} is not a directory", dir.display()))
            .hint("name the directory in which agents of threads work that began on other machines"));
    }
    Ok(settings::workspace(&context.cwd, dir)?)
}
