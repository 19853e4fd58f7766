//! `uwf cas …`

mod get;
mod has;
mod hash;
mod list;
mod put;
mod put_text;
mod refs;
mod reindex;
mod rm;
mod schema;
mod verify;
mod walk;

use json_cas::NodeHash;
use serde::Serialize;
use serde_json::json;

use crate::commands::gc;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print a node.
    Get(get::Args),
    /// Store a value as a node.
    Put(put::Args),
    /// Store a text as a `content` node.
    PutText(put_text::Args),
    /// Print the hash of a node without storing it.
    Hash(hash::Args),
    /// Check whether a node exists: exit 0 or 69.
    Has(has::Args),
    /// List the nodes that a node refers to.
    Refs(refs::Args),
    /// List all nodes reachable from a node.
    Walk(walk::Args),
    /// List nodes.
    #[command(alias = "ls")]
    List(list::Args),
    /// Store, list and print the JSON Schemas of types.
    #[command(subcommand, after_help = schema::EXAMPLES)]
    Schema(schema::Command),
    /// Check nodes: the whole store, or everything reachable from one node.
    Verify(verify::Args),
    /// Rebuild the cache, and remove leftover temporary files.
    Reindex(reindex::Args),
    /// Remove unreferenced nodes (`uwf gc`).
    Gc(gc::Args),
    /// Remove an unreferenced node.
    Rm(rm::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf cas put-text 'a text'                  store a text
  uwf cas get 2XY1PEX26ZD0Y                  print a node
  uwf cas walk 2XY1 | jq length              number of reachable nodes
  uwf cas verify                             check all nodes";

/// Runs a command of the group.
pub(crate) fn run(context: &CommandContext, command: Command) -> CommandResult {
    match command {
        Command::Get(args) => get::run(context, &args),
        Command::Put(args) => put::run(context, &args),
        Command::PutText(args) => put_text::run(context, &args),
        Command::Hash(args) => hash::run(context, &args),
        Command::Has(args) => has::run(context, &args),
        Command::Refs(args) => refs::run(context, &args),
        Command::Walk(args) => walk::run(context, &args),
        Command::List(args) => list::run(context, &args),
        Command::Schema(command) => schema::run(context, command),
        Command::Verify(args) => verify::run(context, &args),
        Command::Reindex(args) => reindex::run(context, &args),
        Command::Gc(args) => gc::run(context, &args),
        Command::Rm(args) => rm::run(context, &args),
    }
}

/// The hash of a node that was stored or would be stored.
fn named(hash: NodeHash) -> PrintableReport {
    PrintableReport::value_with_text(json!({ "hash": hash }), format!("{hash}\n"))
}

/// One node of a list.
#[derive(Serialize)]
struct NodeListRow {
    hash: NodeHash,
    /// Absent if the node is unreadable.
    r#type: Option<NodeHash>,
    /// The name of its type.
    title: Option<String>,
    /// Why the node is unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl CommandReport for NodeListRow {
    fn text(&self) -> String {
        let hash = self.hash;
        match (&self.problem, self.r#type, &self.title) {
            (Some(problem), _, _) => format!("{hash}  {} {problem}\n", style::red("corrupt:")),
            (None, Some(_), Some(title)) => format!("{hash}  {title}\n"),
            (None, Some(type_hash), None) => format!("{hash}  {}\n", style::dim(&format!("type {type_hash}"))),
            (None, None, _) => format!("{hash}\n"),
        }
    }
}
