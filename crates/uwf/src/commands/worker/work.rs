//! `uwf worker`, in a build with Temporal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uwf_core::workflow::GROUP_AGENT;
use uwf_engine::attempt::settings;
use uwf_engine::error::Error;
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_temporal::{TemporalAddress, WorkerSettings};

use super::{Args, EngineAddress};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::temporal;

/// Works for Temporal until a signal ends it.
pub(crate) fn run(context: &CommandContext, args: Args) -> CommandResult {
    let Args { engine: _, addressed, max_agents, agents, cwd, drain } = args;
    let cwd = cwd.map(|dir| directory(context, &dir)).transpose()?;
    let agents = known_agents(context, agents)?;
    // A worker that can't use its store would take threads away from workers that can.
    context.home.heads().list().map_err(Error::from)?;
    let EngineAddress { address, namespace, task_queue, tls_cert, tls_key, tls_ca } = addressed;
    let engine =
        temporal::connect(context, TemporalAddress { address, namespace, task_queue, tls_cert, tls_key, tls_ca })?;
    let place = if agents.is_empty() { "no agents".to_owned() } else { agents.join(", ") };
    context.printer.talk(&format!("working for Temporal at {}: {place}; Ctrl-C ends it", engine.address()));
    let printer = context.printer;
    let settings = WorkerSettings {
        program: context.home.bin().to_owned(),
        variables: vec![(ROOT_VARIABLES[0].to_owned(), context.home.root().to_owned())],
        cwd: cwd.unwrap_or_else(|| context.cwd.clone()),
        agents,
        group_agent: GROUP_AGENT,
        max_agents: usize::from(max_agents),
        drain,
        say: Arc::new(move |line| printer.talk(line)),
    };
    uwf_temporal::work(engine, settings).map_err(temporal::failure)?;
    Ok(PrintableReport::nothing())
}

/// The agents whose steps this worker runs; by default those in `config.yaml`.
fn known_agents(context: &CommandContext, mut agents: Vec<String>) -> Result<Vec<String>, CommandError> {
    let config = context.home.config()?;
    // A project's configuration may declare it.
    for unknown in agents.iter().filter(|agent| !config.agents.contains_key(*agent) && *agent != GROUP_AGENT) {
        let known = config.agents.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        context.printer.warn(&format!(
            "agent `{unknown}` is not in config.yaml, so most steps with it will fail here; configured agents: {known}"
        ));
    }
    if agents.is_empty() {
        agents = config.agents.keys().cloned().chain(config.default_agent).collect();
        // Branches that share a worktree are played here, and may need any agent. So a worker that has all of them plays groups.
        let plays_groups = !agents.is_empty();
        agents.extend(plays_groups.then(|| GROUP_AGENT.to_owned()));
    }
    agents.sort();
    agents.dedup();
    Ok(agents)
}

/// The directory of `--cwd`.
fn directory(context: &CommandContext, dir: &Path) -> Result<PathBuf, CommandError> {
    if !context.cwd.join(dir).is_dir() {
        return Err(CommandError::usage(format!("--cwd {} is not a directory", dir.display()))
            .hint("give a directory for agents of threads that started on other machines"));
    }
    Ok(settings::workspace(&context.cwd, dir)?)
}
