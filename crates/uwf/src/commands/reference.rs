//! The reference page in docs/, generated from the same definitions as `--help`.

use serde_json::json;

use crate::printer::{CommandResult, Printed};
use crate::topics;

/// Prints the page.
pub(crate) fn run(root: clap::Command) -> CommandResult {
    let markdown = topics::reference(root);
    Ok(Printed::of(json!({ "markdown": markdown }), markdown))
}
