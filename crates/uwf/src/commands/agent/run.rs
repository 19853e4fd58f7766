//! `uwf agent run`

use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed};

/// Arguments of `uwf agent run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf agent run mock 01ARZ3NDEKTSV4RRFFQ69G5FAV coder\n  uwf-mock -t 01ARZ3NDEKTSV4RRFFQ69G5FAV -r coder    the same, when uwf is also installed as uwf-mock"
)]
pub(crate) struct Args {
    /// The built-in agent.
    pub(crate) name: String,
    /// Thread and role, plain or as `-t THREAD -r ROLE`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) rest: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let (thread, role) = agent_kit::agent::thread_and_role(args.rest.iter().cloned()).map_err(CommandError::from)?;
    uwf_agents::run(&context.home, &args.name, &thread, &role)?;
    Ok(Printed::nothing())
}
