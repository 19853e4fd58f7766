//! `uwf cas rm`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_engine::verbs::cas_rm::{self, RemovedNode};

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf cas rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas rm 2XY1PEX26ZD0Y

If the node is in use, exits with 64 and names what references it: a thread, active or ended, the record of a thread, a named \
workflow or an earlier version, the configuration, uwf itself, or another node. If references cannot be read, nothing is removed. \
`uwf gc` removes all unreferenced nodes.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
}

/// Removes a node.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let hash = context.home.store().resolve_prefix(&args.node)?;
    let RemovedNode { hash, bytes } = cas_rm::remove(&context.home, hash)?;
    let text = format!("removed node {}, {bytes} bytes\n", style::bold(&hash.to_string()));
    Ok(PrintableReport::value_with_text(json!({ "removed": hash, "bytes": bytes }), text))
}
