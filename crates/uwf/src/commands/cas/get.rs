//! `uwf cas get`

use clap_complete::engine::ArgValueCompleter;
use json_cas::Node;
use serde_json::json;
use uwf_engine::root::type_index;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
use crate::table;

/// Arguments of `uwf cas get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas get 2XY1PEX26ZD0Y
  uwf cas get 2XY1 --format json | jq .payload

`timestamp` is when the node was first stored, in Unix milliseconds.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique beginning of it.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
    /// Accepted for scripts written for an earlier command: the timestamp is always printed.
    #[arg(long, hide = true)]
    timestamp: bool,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let (hash, node) = context.read_node(&args.node)?;
    let Node { type_hash, payload, timestamp, .. } = node;
    let title = type_index::title(context.home.store(), type_hash).map(|title| format!(" ({title})"));
    let (title, stored) = (title.unwrap_or_default(), table::time(timestamp));
    let text = format!("hash:   {hash}\ntype:   {type_hash}{title}\nstored: {stored}\n\n{payload:#}\n");
    let value = json!({ "hash": hash, "type": type_hash, "payload": payload, "timestamp": timestamp });
    Ok(Printed::of(value, text))
}
