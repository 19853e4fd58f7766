//! `uwf workflow put`

use std::path::PathBuf;

use serde_json::json;
use uwf_engine::verbs::put::{self, Put};

use crate::checked::Checked;
use crate::context::Context;
use crate::printer::{CommandResult, Printed};
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

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let Put { text, problems, stored } = put::put(&context.home, &args.file, args.strict)?;
    let checked = Checked::new(args.file.display().to_string(), text, problems, args.strict);
    context.printer.talk_raw(&checked.snippets());
    match stored {
        Some((name, hash)) => {
            let text = format!("stored {} as {hash}\n", style::bold(&name));
            Ok(Printed::of(json!({ "name": name, "hash": hash }), text))
        }
        None => Err(checked.refused()),
    }
}
