//! The reference page in docs/, made from the same definitions as `--help`.

use serde::Serialize;

use crate::printer::{CommandResult, Printed, Report};
use crate::topics;

#[derive(Serialize)]
struct Page {
    markdown: String,
}

impl Report for Page {
    fn text(&self) -> String {
        self.markdown.clone()
    }
}

/// Prints the page.
pub(crate) fn run(root: clap::Command) -> CommandResult {
    Printed::new(&Page { markdown: topics::reference(root) })
}
