//! `uwf cas get`

use json_cas::Hash;
use serde::Serialize;
use serde_json::Value;
use uwf_engine::root::type_index;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf cas get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas get 2XY1PEX26ZD0Y
  uwf cas get 2XY1 --format json | jq .payload

`timestamp` is when the node was first stored, in Unix milliseconds.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique beginning of it.
    #[arg(value_name = "HASH")]
    node: String,
    /// Accepted for scripts written for an earlier command: the timestamp is always printed.
    #[arg(long, hide = true)]
    timestamp: bool,
}

/// A node as reports tell it.
#[derive(Serialize)]
struct Got {
    hash: Hash,
    r#type: Hash,
    payload: Value,
    timestamp: u64,
    /// What people call its type.
    #[serde(skip)]
    title: Option<String>,
}

impl Report for Got {
    fn text(&self) -> String {
        let Got { hash, r#type, payload, timestamp, title } = self;
        let title = title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        format!("hash:   {hash}\ntype:   {type}{title}\nstored: {}\n\n{payload:#}\n", crate::table::time(*timestamp))
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let (hash, node) = context.read_node(&args.node)?;
    let title = type_index::title(context.home.store(), node.type_hash);
    Printed::new(&Got { hash, r#type: node.type_hash, payload: node.payload, timestamp: node.timestamp, title })
}
