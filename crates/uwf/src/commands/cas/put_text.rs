//! `uwf cas put-text`

use std::path::PathBuf;

use uwf_core::node::{ContentNode, TypedPayload};
use uwf_engine::root::node_types;

use super::named;
use crate::context::CommandContext;
use crate::input;
use crate::printer::CommandResult;

/// Arguments of `uwf cas put-text`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas put-text 'a text'
  uwf cas put-text --file notes.md
  git diff | uwf cas put-text -")]
pub(crate) struct Args {
    /// The text, or - for stdin.
    #[arg(allow_hyphen_values = true, required_unless_present = "file")]
    text: Option<String>,
    /// Read the text from a file.
    #[arg(long, conflicts_with = "text")]
    file: Option<PathBuf>,
}

/// Stores a text.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let text = match (&args.text, &args.file) {
        (_, Some(file)) => input::from_file(file)?,
        (Some(dash), None) if dash == "-" => input::from_stdin()?,
        (text, None) => text.clone().unwrap_or_default(),
    };
    node_types::ensure(&context.home)?;
    let hash = context.home.store().put(&ContentNode { text }.draft())?;
    Ok(named(hash))
}
