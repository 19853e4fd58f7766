//! `uwf workflow history`

use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};
use uwf_engine::root::registry;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
use crate::style;
use crate::table::{self, Table};

/// Arguments of `uwf workflow history`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow history solve-issue
  uwf workflow history solve-issue | jq -r '.[1].hash'      the version before this one

Newest first. `timestamp` is when the name was given to the version, in Unix milliseconds; 0: not known.")]
pub(crate) struct Args {
    /// The name.
    #[arg(add = ArgValueCompleter::new(complete::workflow_names))]
    name: String,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let mut registry = registry::read(&context.home)?;
    super::require(context, &registry, &args.name)?;
    let mut table = Table::new(&["hash", "since"]);
    let mut versions = Vec::new();
    let known = registry.remove(&args.name).into_iter().flat_map(|entry| {
        let past = entry.history.into_iter().map(|past| (past.hash, past.timestamp, false));
        std::iter::once((entry.hash, entry.timestamp, true)).chain(past)
    });
    for (hash, timestamp, current) in known {
        let since = if timestamp == 0 { "-".to_owned() } else { table::time(timestamp) };
        let mark = if current { format!("  {}", style::green("current")) } else { String::new() };
        table.row(vec![hash.to_string(), format!("{since}{mark}")]);
        versions.push(json!({ "hash": hash, "timestamp": timestamp, "current": current }));
    }
    Ok(Printed::of(Value::Array(versions), table.text()))
}
