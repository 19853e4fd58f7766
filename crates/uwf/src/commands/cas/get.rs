//! `uwf cas get`

use json_cas::Hash;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf cas get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf cas get 2XY1PEX26ZD0Y\n  uwf cas get 2XY1 --format json | jq .payload")]
pub(crate) struct Args {
    /// The node: its hash, or a unique beginning of it.
    node: String,
}

/// A node as reports tell it.
#[derive(Serialize)]
struct Got {
    hash: Hash,
    r#type: Hash,
    payload: Value,
    timestamp: u64,
}

impl Report for Got {
    fn text(&self) -> String {
        format!("hash:      {}\ntype:      {}\ntimestamp: {}\n\n{:#}\n", self.hash, self.r#type, crate::table::time(self.timestamp), self.payload)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let hash = context.node(&args.node)?;
    let node = context.home.store().get(hash)?;
    Printed::new(&Got { hash, r#type: node.type_hash, payload: node.payload, timestamp: node.timestamp })
}
