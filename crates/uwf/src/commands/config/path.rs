//! `uwf config path`

use serde_json::json;

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf config path`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  $EDITOR \"$(uwf config path --format text)\"")]
pub(crate) struct Args {}

/// Prints the path of the configuration.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let path = context.home.config_file();
    let file = path.display().to_string();
    Ok(PrintableReport::value_with_text(json!({ "file": file, "exists": path.exists() }), file + "\n"))
}
