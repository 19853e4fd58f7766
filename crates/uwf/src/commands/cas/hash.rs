//! `uwf cas hash`

use clap_complete::engine::ArgValueCompleter;
use json_cas::{NodeDraft, StoreError};
use uwf_engine::root::type_index;

use super::named;
use crate::complete;
use crate::context::CommandContext;
use crate::input;
use crate::printer::CommandResult;

/// Arguments of `uwf cas hash`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas hash content '{\"text\": \"hello\"}'
  uwf cas hash 0000000000000 '[1, 2.5, null]'

The type need not exist, and the value is not checked against it.")]
pub(crate) struct Args {
    /// The type: any hash, a unique beginning of a stored one, or the title of one of uwf's own.
    #[arg(value_name = "TYPE", add = ArgValueCompleter::new(complete::hashes))]
    type_name: String,
    /// The value: JSON, a file with JSON, or - for stdin.
    #[arg(value_name = "JSON|FILE|-", allow_hyphen_values = true)]
    value: String,
}

/// Prints the hash of a value without storing it.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let type_hash = type_index::resolve(&context.home, &args.type_name)?;
    let value = input::json(&args.value)?;
    let draft = NodeDraft::new(type_hash, value).map_err(StoreError::from)?;
    Ok(named(draft.hash()))
}
