//! `uwf cas refs`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas refs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas refs 2XY1PEX26ZD0Y
  uwf cas refs 2XY1 | jq -r '.[]' | xargs -n1 uwf cas get")]
pub(crate) struct Args {
    /// The node: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
}

/// Lists the nodes that a node references.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let (_, node) = context.read_node(&args.node)?;
    let refs = context.home.store().refs(&node)?;
    Ok(PrintableReport::value_with_text(json!(refs), refs.iter().map(|hash| format!("{hash}\n")).collect::<String>()))
}
