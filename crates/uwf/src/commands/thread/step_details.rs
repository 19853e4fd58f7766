//! `uwf thread step-details`

mod page;

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::Value;
use uwf_engine::error::ErrorKind;
use uwf_engine::views::step_details;

use crate::complete;
use crate::context::CommandContext;
use crate::pager::PagerArgs;
use crate::printer::{CommandReport, CommandResult, PrintableReport};

/// Arguments of `uwf thread step-details`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread step-details 2XY1PEX26ZD0Y\n  uwf thread step-details 2XY1 --format yaml\n  uwf thread step-details 2XY1 --format json | jq .detail.turns\n\nText for people unless --format says otherwise. As YAML or JSON the document is the node with everything it refers to in\nits place: a text or node that occurs again is not repeated, `toldAbove` has its hash; timestamps are Unix\nmilliseconds. A child thread is only named; show its last step with the same command."
)]
pub(crate) struct Args {
    /// A step, a detail or a failed attempt: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
    #[command(flatten)]
    paging: PagerArgs,
}

#[derive(Serialize)]
#[serde(transparent)]
struct StepDetailsReport(Value);

impl CommandReport for StepDetailsReport {
    fn text(&self) -> String {
        page::page(&self.0)
    }
}

/// Prints the details of a step.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let found = context.node(&args.node).and_then(|hash| Ok(step_details::expand(context.home.store(), hash)?));
    let expanded = found.map_err(|error| match error.kind {
        ErrorKind::NotFound | ErrorKind::Usage => {
            error.hint("`uwf thread steps THREAD` lists the hashes of steps and details")
        }
        _ => error,
    })?;
    for note in &expanded.notes {
        context.printer.warn(note);
    }
    Ok(PrintableReport::long(StepDetailsReport(expanded.value))?.paged(&args.paging))
}
