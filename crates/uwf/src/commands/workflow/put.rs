//! `uwf workflow put`

use std::path::PathBuf;

use json_cas::Hash;
use serde::Serialize;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;

/// Arguments of `uwf workflow put`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf workflow put solve-issue.yaml\n  uwf workflow put --strict flows/develop.yaml"
)]
pub(crate) struct Args {
    /// The workflow, YAML or JSON.
    file: PathBuf,
    /// Refuse warnings too.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Stored {
    name: String,
    hash: Hash,
}

impl Report for Stored {
    fn text(&self) -> String {
        format!("stored {} as {}\n", style::bold(&self.name), self.hash)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let put = uwf_engine::put::put(&context.home, &args.file, args.strict)?;
    for problem in &put.problems {
        context.printer.warn(&problem.to_string());
    }
    Printed::new(&Stored { name: put.name, hash: put.hash })
}
