//! `uwf config path`

use serde::Serialize;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};

/// Arguments of `uwf config path`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  $EDITOR \"$(uwf config path --format text)\"")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Where {
    file: String,
    /// Whether the file is there; without it the defaults hold.
    exists: bool,
}

impl Report for Where {
    fn text(&self) -> String {
        format!("{}\n", self.file)
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, _args: &Args) -> CommandResult {
    let file = context.home.config_file();
    Printed::new(&Where { file: file.display().to_string(), exists: file.exists() })
}
