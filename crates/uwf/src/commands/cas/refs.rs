//! `uwf cas refs`

use json_cas::Hash;
use serde::Serialize;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf cas refs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas refs 2XY1PEX26ZD0Y
  uwf cas refs 2XY1 | jq -r '.[]' | xargs -n1 uwf cas get")]
pub(crate) struct Args {
    /// The node: its hash, or a unique beginning of it.
    #[arg(value_name = "HASH")]
    node: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct References(Vec<Hash>);

impl Report for References {
    fn text(&self) -> String {
        self.0.iter().map(|hash| format!("{hash}\n")).collect()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let (_, node) = context.read_node(&args.node)?;
    Printed::new(&References(context.home.store().refs(&node)?))
}
