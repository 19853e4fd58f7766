//! `uwf cas put`

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeDraft;
use uwf_engine::root::node_types;
use uwf_engine::root::type_index;

use super::named;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::CommandResult;

/// Arguments of `uwf cas put`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas put content '{\"text\": \"hello\"}'
  uwf cas put 2XY1PEX26ZD0Y value.json
  jq .result out.json | uwf cas put 2XY1 -

The value must fit the type. You can store the same value again: it has the same hash.")]
pub(crate) struct Args {
    /// The type: its hash, a unique start of the hash, or the title of one of uwf's own (content, agent, StepNode…).
    #[arg(value_name = "TYPE", add = ArgValueCompleter::new(complete::hashes))]
    type_name: String,
    /// The value: JSON, a file with JSON, or - for stdin.
    #[arg(value_name = "JSON|FILE|-", allow_hyphen_values = true, value_hint = clap::ValueHint::FilePath)]
    value: Option<String>,
}

/// Stores a value.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let Some(value) = &args.value else { return Err(only_one(&args.type_name)) };
    let type_hash = type_index::resolve(&context.home, &args.type_name)?;
    let value = input::json(value)?;
    if uwf_core::node::OWN_TYPES.iter().any(|own| own.hash == type_hash) {
        node_types::ensure(&context.home)?;
    }
    let draft = NodeDraft::new(type_hash, value).map_err(json_cas::StoreError::from)?;
    let hash = context.home.store().put(&draft).map_err(|error| match error {
        unknown @ json_cas::StoreError::UnknownType { .. } => {
            CommandError::from(unknown).hint("`uwf cas schema list` shows all types")
        }
        other => other.into(),
    })?;
    Ok(named(hash))
}

/// The error for a text without a type, which an older command accepted.
fn only_one(given: &str) -> CommandError {
    let quoted = shlex::try_quote(given).unwrap_or_default();
    CommandError::usage("a type and a value are needed, only one of them is given")
        .hint(format!("to store a text: uwf cas put-text {quoted}"))
        .hint("to store a value: uwf cas put TYPE JSON")
}
