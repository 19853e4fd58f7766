//! `uwf schedule …`

#[cfg(feature = "temporal")]
mod create;
#[cfg(feature = "temporal")]
mod list;
#[cfg(feature = "temporal")]
mod rm;

use clap_complete::engine::ArgValueCompleter;

use crate::commands::thread::args::thread_input::InputArgs;
use crate::complete;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start a thread of a workflow at the times of a cron expression.
    Create(CreateArgs),
    /// List the schedules.
    #[command(alias = "ls")]
    List(ListArgs),
    /// Remove a schedule; threads it started continue.
    Rm(RmArgs),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule list
  uwf schedule rm weekly

Temporal keeps the schedules, and workers (uwf worker) run their threads.";

/// Arguments of `uwf schedule create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule create nightly --workflow tidy --cron 'CRON_TZ=Europe/Berlin 30 2 * * *' -p - < task.md
  uwf schedule create monthly --workflow report --cron '0 6 1 * *' -p 'Write the report' --set period=month

A paused thread, which is never stepped, holds workflow, task and input; each scheduled thread starts as its copy. A later
version of the workflow applies only after the next `create`. A time is skipped if the previous thread has not ended,
even if it waits for a person; `uwf schedule list` counts skipped times.")]
pub(crate) struct CreateArgs {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// A workflow: path, name, hash or unique prefix of one.
    #[arg(long, value_name = "WORKFLOW", add = ArgValueCompleter::new(complete::workflows))]
    workflow: String,
    /// When: minute, hour, day of the month, month, day of the week, in UTC unless it begins with CRON_TZ=ZONE.
    #[arg(long, value_name = "CRON")]
    cron: String,
    /// Task of the threads; `-` reads it from stdin.
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: String,
    #[command(flatten)]
    input: InputArgs,
}

/// Arguments of `uwf schedule list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf schedule list")]
pub(crate) struct ListArgs {}

/// Arguments of `uwf schedule rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf schedule rm weekly")]
pub(crate) struct RmArgs {
    /// Its name.
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
}

/// Runs a command of the group.
#[cfg(feature = "temporal")]
pub(crate) fn run(context: &crate::context::CommandContext, command: Command) -> crate::printer::CommandResult {
    match command {
        Command::Create(args) => create::run(context, args),
        Command::List(ListArgs {}) => list::run(context),
        Command::Rm(args) => rm::run(context, &args),
    }
}

/// Parses the name of a schedule.
fn name(text: &str) -> Result<String, String> {
    let is_plain = text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_.".contains(symbol));
    (is_plain && (1..=100).contains(&text.len()))
        .then(|| text.to_owned())
        .ok_or_else(|| "a name has letters, digits, `-`, `_` and `.`, at most 100".to_owned())
}
