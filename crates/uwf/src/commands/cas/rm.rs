//! `uwf cas rm`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_engine::verbs::cas_rm::{self, Removed};

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
use crate::style;

/// Arguments of `uwf cas rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas rm 2XY1PEX26ZD0Y

A node in use is refused (exit 64), with what leads to it: a thread, active or ended, the record of one, a workflow with a \
name or one of its earlier versions, the configuration, uwf itself, or another node. So is everything if that cannot be told. \
`uwf gc` removes all nodes that nothing leads to.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique beginning of it.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let hash = context.home.store().resolve_prefix(&args.node)?;
    let Removed { hash, bytes } = cas_rm::remove(&context.home, hash)?;
    let text = format!("removed node {}, {bytes} bytes\n", style::bold(&hash.to_string()));
    Ok(Printed::of(json!({ "removed": hash, "bytes": bytes }), text))
}
