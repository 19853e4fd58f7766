//! `uwf schedule …`

mod create;
mod list;
mod rm;

use crate::context::Context;
use crate::printer::CommandResult;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Begin a thread of a workflow again and again, at the times of a cron expression.
    Create(create::Args),
    /// List the schedules.
    #[command(alias = "ls")]
    List(list::Args),
    /// Remove a schedule; threads it started continue.
    Rm(rm::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf schedule create weekly --workflow review --cron '0 9 * * 1' -p 'Review what was merged last week'
  uwf schedule list
  uwf schedule rm weekly

Temporal keeps the schedules, and workers run what they begin: uwf worker.";

/// Runs a command of the group.
pub(crate) fn run(context: &Context, command: Command) -> CommandResult {
    match command {
        Command::Create(args) => create::run(context, args),
        Command::List(args) => list::run(context, &args),
        Command::Rm(args) => rm::run(context, &args),
    }
}

/// The name of a schedule as it was typed.
fn name(text: &str) -> Result<String, String> {
    let is_plain = text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_.".contains(symbol));
    (is_plain && (1..=100).contains(&text.len()))
        .then(|| text.to_owned())
        .ok_or_else(|| "a name has letters, digits, `-`, `_` and `.`, at most 100".to_owned())
}
