//! The reference page in docs/, generated from the same definitions as `--help`.

use serde_json::json;

use crate::printer::{CommandResult, PrintableReport};
use crate::topics;

/// Prints the page.
pub(crate) fn run(root: clap::Command) -> CommandResult {
    let markdown = topics::reference(root);
    Ok(PrintableReport::value_with_text(json!({ "markdown": markdown }), markdown))
}
