//! `uwf cas get`

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_engine::root::type_index;
use uwf_engine::views::stored_node::StoredNode;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::table;

/// Arguments of `uwf cas get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas get 2XY1PEX26ZD0Y
  uwf cas get 2XY1 --format json | jq .payload

`timestamp` is when the node was first stored, in Unix milliseconds.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
    /// Accepted for scripts written for an earlier command: the timestamp is always printed.
    #[arg(long, hide = true)]
    timestamp: bool,
}

/// A node, and the name of its type.
#[derive(Serialize)]
struct NodeReport {
    #[serde(flatten)]
    node: StoredNode,
    #[serde(skip)]
    title: Option<String>,
}

impl CommandReport for NodeReport {
    fn text(&self) -> String {
        let StoredNode { hash, r#type, payload, timestamp } = &self.node;
        let title = self.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        let stored = table::time(*timestamp);
        format!("hash:   {hash}\ntype:   {type}{title}\nstored: {stored}\n\n{payload:#}\n")
    }
}

/// Prints a node.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let (hash, node) = context.read_node(&args.node)?;
    let title = type_index::title(context.home.store(), node.type_hash);
    PrintableReport::new(&NodeReport { node: StoredNode::from_hash_and_node(hash, node), title })
}
