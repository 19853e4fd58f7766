//! `uwf workflow rm`

use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uwf_engine::error::Error;
use uwf_engine::root::registry;
use uwf_engine::verbs::workflows;

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf workflow rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow rm solve-issue

Threads that run the workflow continue, because they refer to it by its hash. So can you: `uwf workflow show HASH`.")]
pub(crate) struct Args {
    /// The name.
    #[arg(add = ArgValueCompleter::new(complete::workflow_names))]
    name: String,
}

/// Removes the workflow's name.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    workflows::entry(&context.home, &registry::read(&context.home)?, &args.name, &context.cwd)?;
    let hash = registry::update(&context.home, |registry| {
        let entry = registry.remove(&args.name);
        // Another process may have removed it in the meantime.
        let missing = || Error::not_found(format!("workflow `{}` does not exist", args.name));
        entry.map(|entry| entry.hash).ok_or_else(missing)
    })?;
    let text = format!("removed {}, which was {hash}\n", style::bold(&args.name));
    Ok(PrintableReport::value_with_text(json!({ "name": args.name, "hash": hash }), text))
}
