//! `uwf thread step-details`

use serde::Serialize;
use serde_json::Value;
use uwf_engine::error::Kind;
use uwf_engine::expand;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report, yaml};

/// Arguments of `uwf thread step-details`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread step-details 2XY1PEX26ZD0Y\n  uwf thread step-details 2XY1 --format json | jq .detail.turns\n\nThe document is the node with everything it refers to in its place, as YAML unless told otherwise. A text or node that\nis told already is not told again: `toldAbove` has its hash. A child thread is named, not told: its last step can be\nasked for in the same way. Timestamps are Unix milliseconds."
)]
pub(crate) struct Args {
    /// A step, a detail or a failed attempt: its hash, or a unique beginning of it.
    #[arg(value_name = "HASH")]
    node: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Details(Value);

impl Report for Details {
    fn text(&self) -> String {
        yaml(&self.0)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let found = context.node(&args.node).and_then(|hash| Ok(expand::expand(context.home.store(), hash)?));
    let expanded = found.map_err(|error| match error.kind {
        Kind::NotFound | Kind::Usage => error.hint("`uwf thread steps THREAD` lists the hashes of steps and details"),
        _ => error,
    })?;
    for note in &expanded.notes {
        context.printer.warn(note);
    }
    Printed::long(Details(expanded.value))
}
