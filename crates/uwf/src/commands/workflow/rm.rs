//! `uwf workflow rm`

use clap_complete::engine::ArgValueCompleter;
use json_cas::Hash;
use serde::Serialize;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::registry;

use crate::complete;
use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;

/// Arguments of `uwf workflow rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow rm solve-issue

Threads that run the workflow go on: they name it by its hash. So can you: `uwf workflow show HASH`.")]
pub(crate) struct Args {
    /// The name.
    #[arg(add = ArgValueCompleter::new(complete::workflow_names))]
    name: String,
}

#[derive(Serialize)]
struct Removed {
    name: String,
    /// What it stood for.
    hash: Hash,
}

impl Report for Removed {
    fn text(&self) -> String {
        format!("removed {}, which was {}\n", style::bold(&self.name), self.hash)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    super::require(context, &registry::read(&context.home)?, &args.name)?;
    let hash = registry::update(&context.home, |registry| {
        let entry = registry.remove(&args.name);
        // Somebody else may have been faster.
        entry
            .map(|entry| entry.hash)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no workflow `{}`", args.name)))
    })?;
    Printed::new(&Removed { name: args.name.clone(), hash })
}
