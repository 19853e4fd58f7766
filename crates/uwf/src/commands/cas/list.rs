//! `uwf cas list`

use clap_complete::engine::ArgValueCompleter;
use json_cas::{NodeHash, StoreError};
use uwf_engine::root::type_index::{self, TypeIndex};

use super::NodeListRow;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas list --limit 20
  uwf cas list --type content | jq -r '.[].hash'
  uwf cas list --type 2XY1

In order of hash. Types are remembered in the cache, so that only new nodes are read.")]
pub(crate) struct Args {
    /// Only nodes of this type: its hash, a unique start of the hash, or the title of one of uwf's own.
    #[arg(long = "type", value_name = "TYPE", add = ArgValueCompleter::new(complete::hashes))]
    type_name: Option<String>,
    /// At most this many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Lists nodes.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let wanted = match &args.type_name {
        Some(typed) => Some(type_index::resolve_all(&context.home, typed)?),
        None => None,
    };
    let nodes = context.home.store().objects().list(None)?;
    let mut index = TypeIndex::load(&context.home);
    let rows = nodes.into_iter().filter_map(|hash| row(context, hash, wanted.as_deref(), &mut index).transpose());
    let printed = context.printer.rows(rows.take(args.limit.unwrap_or(usize::MAX)));
    index.save();
    printed?;
    Ok(PrintableReport::nothing())
}

/// The row of a node. An unreadable node is listed with its problem, or left out with a warning if only certain types are listed.
fn row(
    context: &CommandContext,
    hash: NodeHash,
    wanted: Option<&[NodeHash]>,
    index: &mut TypeIndex<'_>,
) -> Result<Option<NodeListRow>, CommandError> {
    match (index.type_of(hash), wanted) {
        (Ok(found), Some(wanted)) if !wanted.contains(&found) => Ok(None),
        (Ok(found), _) => Ok(Some(NodeListRow { hash, r#type: Some(found), title: index.title(found), problem: None })),
        // The node was removed after the store was listed.
        (Err(StoreError::NotFound { .. }), _) => Ok(None),
        (Err(error), _) if error.is_of_the_moment() => Err(error.into()),
        (Err(error), Some(_)) => {
            context.printer.warn(&format!("{error}; it is left out"));
            Ok(None)
        }
        (Err(StoreError::Corrupt { reason, .. }), None) => {
            Ok(Some(NodeListRow { hash, r#type: None, title: None, problem: Some(reason) }))
        }
        (Err(error), None) => {
            Ok(Some(NodeListRow { hash, r#type: None, title: None, problem: Some(error.to_string()) }))
        }
    }
}
