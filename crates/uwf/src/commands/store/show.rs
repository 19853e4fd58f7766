//! `uwf store show`

use serde_json::json;
use uwf_engine::error::Error;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf store show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf store show
  uwf store show | jq -r .store

The command sends a request to a shared store. If the store cannot be used, the command fails with the reason and a
hint.")]
pub(crate) struct Args {}

/// Shows the store.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let home = &context.home;
    let root = home.root().display().to_string();
    let Some(shared) = home.shared() else {
        let text = format!("{}\nfiles of the storage root\n", style::bold(&root));
        return Ok(PrintableReport::value_with_text(json!({ "store": root, "kind": "files", "root": root }), text));
    };
    let threads = home.heads().list().map_err(Error::from)?.len();
    let text = format!("{}\nshared; locks, records and caches are in {root}\n", style::bold(shared.name()));
    Ok(PrintableReport::value_with_text(
        json!({ "store": shared.name(), "kind": "shared", "root": root, "heads": threads }),
        text,
    ))
}
