//! `uwf config trust`

use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_core::config::{UwfConfig, edit};
use uwf_engine::root::project;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf config trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config trust                  the project of the current directory
  uwf config trust ../app
  uwf config trust --revoke

The file names programs that uwf runs for you: read it first. You trust its current content: after a change you must
trust it again. For threads that work in the project, it overrides your own configuration.")]
pub(crate) struct Args {
    /// A directory of the project.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Revoke the trust.
    #[arg(long)]
    revoke: bool,
}

/// Trusts the configuration of a project.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let dir = context.cwd.join(&args.dir);
    if args.revoke {
        let project = project::distrust(&context.home, &dir)?;
        let file = project.file.display().to_string();
        let text = format!("{} is no longer trusted\n", style::bold(&file));
        return Ok(PrintableReport::value_with_text(json!({ "file": file, "trusted": false, "sets": [] }), text));
    }
    let (project, _, warnings): (_, UwfConfig, _) = project::trust(&context.home, &dir)?;
    warnings.iter().for_each(|problem| context.printer.warn(&problem.to_string()));
    let file = project.file.display().to_string();
    let values = edit::values(project.text(), &file).unwrap_or_default();
    let leaves = edit::leaves(&values);
    let lines: String = leaves.iter().map(|(path, value)| format!("  {path} = {value}\n")).collect();
    let sets: Vec<Value> =
        leaves.into_iter().map(|(path, value)| json!({ "key": path.to_string(), "value": value })).collect();
    let text = format!("trusted {}\n{lines}", style::bold(&file));
    Ok(PrintableReport::value_with_text(json!({ "file": file, "trusted": true, "sets": sets }), text))
}
