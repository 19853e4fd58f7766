//! `uwf workflow put`

use std::path::PathBuf;

use serde_json::json;
use uwf_engine::verbs::put::{self, WorkflowPutReport};

use crate::checked::CheckedFile;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf workflow put`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf workflow put solve-issue.yaml\n  uwf workflow put --strict flows/develop.yaml\n  uwf workflow put flows/develop.yaml --name develop-2"
)]
pub(crate) struct Args {
    /// The workflow, YAML or JSON.
    file: PathBuf,
    /// Name in the registry instead of the workflow's own.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

/// Arguments of `uwf workflow add`, the older form of `put`: `[NAME] FILE`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf workflow add solve-issue flows/solve.yaml")]
pub(crate) struct AddArgs {
    /// The name, if it is not the workflow's own, and the file.
    #[arg(value_names = ["NAME", "FILE"], num_args = 1..=2, required = true)]
    words: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

impl From<AddArgs> for Args {
    fn from(AddArgs { mut words, strict }: AddArgs) -> Args {
        let file = words.pop().unwrap_or_default().into();
        Args { file, name: words.pop(), strict }
    }
}

/// Stores a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let WorkflowPutReport { text, problems, stored } =
        put::put_as(&context.home, &args.file, args.strict, args.name.as_deref())?;
    let checked = CheckedFile::new(args.file.display().to_string(), text, problems, args.strict);
    context.printer.talk_raw(&checked.snippets());
    match stored {
        Some((name, hash)) => {
            let text = format!("stored {} as {hash}\n", style::bold(&name));
            Ok(PrintableReport::value_with_text(json!({ "name": name, "hash": hash }), text))
        }
        None => Err(checked.refused()),
    }
}
