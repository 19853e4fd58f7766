//! `uwf workflow rollback`

use clap_complete::engine::ArgValueCompleter;
use json_cas::{HashPrefix, NodeHash};
use serde_json::json;
use uwf_engine::error;
use uwf_engine::root::ids;
use uwf_engine::root::registry::{self, RegistryEntry};
use uwf_engine::verbs::workflows;

use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf workflow rollback`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow rollback solve-issue                the version before this one
  uwf workflow rollback solve-issue                and back again
  uwf workflow rollback solve-issue 2XY1

The two versions swap places: the replaced version goes to the history. Running threads keep their version.")]
pub(crate) struct Args {
    /// The name.
    #[arg(add = ArgValueCompleter::new(complete::workflow_names))]
    name: String,
    /// A version of its history: the hash, or a unique start of the hash. Default: the newest.
    #[arg(value_name = "HASH", add = ArgValueCompleter::new(complete::hashes))]
    version: Option<String>,
}

/// Rolls back a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let registry = registry::read(&context.home)?;
    let entry = workflows::entry(&context.home, &registry, &args.name, &context.cwd)?;
    let version = args.version.as_ref().map(|typed| version(&args.name, entry, typed)).transpose()?;
    let (previous, hash) =
        registry::update(&context.home, |registry| registry::roll_back(registry, &args.name, version, ids::now_ms()))?;
    let name = style::bold(&args.name);
    let text = match hash == previous {
        true => format!("{name} is {hash} already\n"),
        false => format!("{name} is {hash} now, {previous} before\n"),
    };
    Ok(PrintableReport::value_with_text(json!({ "name": args.name, "hash": hash, "previous": previous }), text))
}

/// The typed version. Only versions of this name are considered, so four symbols are usually enough.
fn version(name: &str, entry: &RegistryEntry, typed: &str) -> Result<NodeHash, CommandError> {
    if let Ok(hash) = typed.parse() {
        return Ok(hash);
    }
    let prefix: HashPrefix = typed.parse().map_err(|error| CommandError::from(json_cas::StoreError::BadHash(error)))?;
    let known = std::iter::once(entry.hash).chain(entry.history.iter().map(|past| past.hash));
    let matches: Vec<NodeHash> = known.filter(|hash| prefix.matches(*hash)).collect();
    match matches.as_slice() {
        [one] => Ok(*one),
        [] => {
            let error = format!("no version of workflow `{name}` begins with {typed}");
            Err(CommandError::new(error::ErrorKind::NotFound, error)
                .hint(format!("`uwf workflow history {name}` lists them")))
        }
        several => {
            let several: Vec<String> = several.iter().map(NodeHash::to_string).collect();
            Err(CommandError::usage(format!(
                "{typed} is the beginning of more than one version: {}",
                several.join(", ")
            )))
        }
    }
}
