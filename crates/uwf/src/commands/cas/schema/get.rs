//! `uwf cas schema get`

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::root::type_index;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas schema get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas schema get content
  uwf cas schema get 2XY1PEX26ZD0Y > review.schema.json")]
pub(crate) struct Args {
    /// The type: its hash, a unique start of the hash, or the title of one of uwf's own.
    #[arg(value_name = "TYPE", add = ArgValueCompleter::new(complete::hashes))]
    type_name: String,
}

/// Prints a schema.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let store = context.home.store();
    let hash = type_index::resolve(&context.home, &args.type_name)?;
    let node = store.get(hash)?;
    if !store.is_schema(hash, &node)? {
        return Err(json_cas::StoreError::NotASchema { type_hash: hash }.into());
    }
    Ok(PrintableReport::value(node.payload))
}
