//! `uwf thread repair`

use serde::Serialize;
use uwf_engine::verbs::repair::{self, RepairAction, RepairSummary, UnsoundStep};

use super::args::which::ThreadArg;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
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
    which: ThreadArg,
    /// Only report what would be done.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RepairReport {
    dry_run: bool,
    #[serde(flatten)]
    repaired: RepairSummary,
}

impl CommandReport for RepairReport {
    fn text(&self) -> String {
        let RepairSummary { thread, head, before, steps } = &self.repaired;
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

fn line(row: &UnsoundStep) -> String {
    let UnsoundStep { index, step, role, action, why } = row;
    let action = match action {
        RepairAction::Noted => style::yellow("a note instead of its detail"),
        RepairAction::Rewritten => style::green("rewritten"),
        RepairAction::Dropped => style::red("dropped, with the steps after it"),
    };
    format!("step {index} ({role}, {step}): {action}: {why}\n")
}

/// Repairs a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    let repaired = repair::repair(&context.home, &thread, args.dry_run)?;
    PrintableReport::new(&RepairReport { dry_run: args.dry_run, repaired })
}
