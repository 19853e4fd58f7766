//! `uwf cas walk`

use clap_complete::engine::ArgValueCompleter;
use json_cas::{Node, NodeHash, WalkOptions};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::type_index::TypeIndex;

use super::NodeListRow;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas walk`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas walk 2XY1PEX26ZD0Y
  uwf cas walk 2XY1 --types | jq -r '.[].hash'      all it takes to copy it to another store

Breadth first, each node once. Missing and corrupt nodes are reported on stderr; the walk continues and exits with 65.")]
pub(crate) struct Args {
    /// The node: its hash, or a unique start of the hash.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    node: String,
    /// Include the types of the nodes, up to the meta-schema.
    #[arg(long)]
    types: bool,
}

/// Lists a node and all nodes below it.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let store = context.home.store();
    // A wrong root is an error, not an empty list.
    let (root, _) = context.read_node(&args.node)?;
    let mut index = TypeIndex::load(&context.home);
    let mut broken = 0;
    let walk = store.walk(&[root], WalkOptions { types: args.types });
    let rows = walk.filter_map(|found| match found {
        Ok(found) => Some(Ok(row(found, &mut index))),
        Err(error) if error.is_of_the_moment() => Some(Err(error.into())),
        Err(error) => {
            broken += 1;
            context.printer.warn(&error.to_string());
            None
        }
    });
    context.printer.rows(rows)?;
    if broken == 0 {
        return Ok(PrintableReport::nothing());
    }
    let error =
        format!("{broken} of the nodes reachable from {root} {} not readable", if broken == 1 { "is" } else { "are" });
    Err(CommandError::new(ErrorKind::Data, error).hint(format!("`uwf cas verify {root}` shows the problem of each")))
}

fn row((hash, node): (NodeHash, Node), index: &mut TypeIndex<'_>) -> NodeListRow {
    NodeListRow { hash, r#type: Some(node.type_hash), title: index.title(node.type_hash), problem: None }
}
