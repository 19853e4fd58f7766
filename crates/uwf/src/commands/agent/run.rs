//! `uwf agent run`

use agent_kit::DESCRIBE_ARGUMENT;
use agent_kit::agent::{self, AgentProgramArguments};
use uwf_agents::describe::describe;
use uwf_engine::attempt::agents::BUILT_IN_PREFIX;
use uwf_engine::attempt::recorded;
use uwf_engine::verbs::run_by_hand;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf agent run`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "uwf agent run <NAME> <THREAD> <ROLE>\n       uwf agent run <NAME> --uwf-describe",
    after_help = "\
Examples:
  uwf agent run mock 01ARZ3NDEKTSV4RRFFQ69G5FAV coder
  uwf-mock -t 01ARZ3NDEKTSV4RRFFQ69G5FAV -r coder    the same, after `uwf agent link DIR`
  uwf agent run mock --uwf-describe                  what it is, as JSON

If you run it by hand, it works as in a step, and uses the settings of the agent that plays the role if that is the
same built-in agent. It stores the step and prints its hash; as with `uwf agent submit`, the thread does not move."
)]
pub(crate) struct Args {
    /// The attempt, where uwf starts it and its environment cannot be seen by others.
    #[arg(long = "attempt", value_name = "ID", hide = true)]
    _attempt: Option<String>,
    /// The built-in agent.
    pub(crate) name: String,
    /// Thread and role, plain or as `-t THREAD -r ROLE`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<String>,
}

/// Runs a built-in agent.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if args.rest == [DESCRIBE_ARGUMENT] {
        let described = describe(&args.name).ok_or_else(|| unknown(&args.name))?;
        return Ok(PrintableReport::line(&serde_json::json!(described).to_string()));
    }
    let AgentProgramArguments { thread, role, own } = agent::arguments(args.rest.iter().cloned())?;
    if let Some(further) = own.first() {
        return Err(CommandError::usage(format!("unexpected argument `{further}`"))
            .hint(format!("it is called as `{BUILT_IN_PREFIX}{} THREAD ROLE`", args.name)));
    }
    let thread = context.thread(&thread)?;
    let running = std::env::var("UWF_ATTEMPT").ok();
    // Other built-in agents play no role: only the engine starts them, and without an attempt.
    let plays_roles = uwf_agents::NAMES.contains(&args.name.as_str());
    if !plays_roles || recorded::of_process(&context.home, &thread, &role, running.as_deref())?.is_some() {
        uwf_agents::run(&context.home, &args.name, &thread, &role)?;
        return Ok(PrintableReport::nothing());
    }
    let code = run_by_hand::run(&context.home, &args.name, &thread, &role)?;
    if code == 0 {
        context.printer.warn("run by hand: the step is stored, but nothing links it");
    }
    Ok(PrintableReport::nothing().exits(code))
}

fn unknown(name: &str) -> CommandError {
    CommandError::usage(format!("`{name}` is not a built-in agent"))
        .hint(format!("built-in agents: {}", uwf_agents::NAMES.join(", ")))
}
