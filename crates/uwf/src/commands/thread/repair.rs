//! `uwf thread repair`

use serde::Serialize;
use uwf_engine::verbs::repair::{self, Action, Repaired, Row};

use super::args::which::Which;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;

/// Arguments of `uwf thread repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf thread repair 7Q2M --dry-run
  uwf thread repair 7Q2M

Use this if steps of a thread fail because a node of its history is missing, damaged, or does not fit its type, which older \
versions of uwf accepted. Nodes never change: a step with a bad detail is replaced by a step with the same output and a note \
instead of the detail, followed by new copies of the later steps. A step with a bad output is dropped, with all later steps, and \
its role plays again. The old steps stay in the store, and `uwf thread fork` can still start at them.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Only report what would be done.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RepairReport {
    dry_run: bool,
    #[serde(flatten)]
    repaired: Repaired,
}

impl Report for RepairReport {
    fn text(&self) -> String {
        let Repaired { thread, head, before, steps } = &self.repaired;
        let thread = style::bold(thread.as_str());
        let mut text: String = steps.iter().map(line).collect();
        text.push_str(&match (before, self.dry_run) {
            (None, _) => format!("every step of thread {thread} is sound; nothing was changed\n"),
            (Some(before), true) => format!("the head of thread {thread} would be {head} instead of {before}\n"),
            (Some(before), false) => format!("the head of thread {thread} is {head} now; it was {before}\n"),
        });
        text
    }
}

fn line(row: &Row) -> String {
    let Row { index, step, role, action, why } = row;
    let action = match action {
        Action::Noted => style::yellow("a note instead of its detail"),
        Action::Rewritten => style::green("rewritten"),
        Action::Dropped => style::red("dropped, with the steps after it"),
    };
    format!("step {index} ({role}, {step}): {action}: {why}\n")
}

/// Repairs a thread.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let repaired = repair::repair(&context.home, &thread, args.dry_run)?;
    Printed::new(&RepairReport { dry_run: args.dry_run, repaired })
}
