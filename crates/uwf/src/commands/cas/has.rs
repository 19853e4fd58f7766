//! `uwf cas has`

use clap_complete::engine::ArgValueCompleter;
use json_cas::StoreError;
use serde_json::json;
use uwf_engine::error::ErrorKind;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas has`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas has 2XY1PEX26ZD0Y && echo there
  uwf cas has 2XY1

Checks only whether a node is stored; `uwf cas verify HASH` checks its content.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
}

/// Checks whether a node exists.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let store = context.home.store();
    let has = match store.resolve_prefix(&args.node) {
        Ok(hash) => store.has(hash)?,
        Err(StoreError::NoSuchPrefix { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    let (text, code) = if has { ("it is there\n", 0) } else { ("it is not there\n", ErrorKind::NotFound.exit_code()) };
    // `exists` is the older name of `has`.
    Ok(PrintableReport::value_with_text(json!({ "has": has, "exists": has }), text).exits(code))
}
