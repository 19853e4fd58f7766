//! `uwf workflow put`

use std::path::PathBuf;

use json_cas::Hash;
use serde::Serialize;
use uwf_engine::verbs::put::{self, Put};

use crate::checked::Checked;
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
struct Named {
    name: String,
    hash: Hash,
}

impl Report for Named {
    fn text(&self) -> String {
        format!("stored {} as {}\n", style::bold(&self.name), self.hash)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let Put { text, problems, stored } = put::put(&context.home, &args.file, args.strict)?;
    let checked = Checked::new(args.file.display().to_string(), text, problems, args.strict);
    context.printer.talk_raw(&checked.snippets());
    match stored {
        Some((name, hash)) => Printed::new(&Named { name, hash }),
        None => Err(checked.refused()),
    }
}
