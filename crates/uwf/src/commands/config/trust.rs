//! `uwf config trust`

use std::path::PathBuf;

use serde::Serialize;
use uwf_core::config::{Config, edit};
use uwf_engine::root::project;

use crate::context::Context;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;

/// Arguments of `uwf config trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config trust                  the project of the current directory
  uwf config trust ../app
  uwf config trust --revoke

The file names programs that uwf runs for you: read it first. What is trusted is its content, so a change makes it \
untrusted again. It is laid over your own configuration for threads that work in the project.")]
pub(crate) struct Args {
    /// A directory of the project.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Trust it no more.
    #[arg(long)]
    revoke: bool,
}

#[derive(Serialize)]
struct Trusted {
    file: String,
    trusted: bool,
    /// What it sets, as keys of the configuration.
    sets: Vec<Set>,
}

#[derive(Serialize)]
struct Set {
    key: String,
    value: serde_json::Value,
}

impl Report for Trusted {
    fn text(&self) -> String {
        if !self.trusted {
            return format!("{} is not trusted any more\n", style::bold(&self.file));
        }
        let sets: String = self.sets.iter().map(|set| format!("  {} = {}\n", set.key, set.value)).collect();
        format!("trusted {}\n{sets}", style::bold(&self.file))
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let dir = context.cwd.join(&args.dir);
    if args.revoke {
        let project = project::distrust(&context.home, &dir)?;
        return Printed::new(&Trusted { file: project.file.display().to_string(), trusted: false, sets: Vec::new() });
    }
    let (project, _, warnings): (_, Config, _) = project::trust(&context.home, &dir)?;
    warnings.iter().for_each(|problem| context.printer.warn(&problem.to_string()));
    let file = project.file.display().to_string();
    let values = edit::values(project.text(), &file).unwrap_or_default();
    let leaves = edit::leaves(&values).into_iter();
    let sets = leaves.map(|(path, value)| Set { key: path.to_string(), value: value.clone() }).collect();
    Printed::new(&Trusted { file, trusted: true, sets })
}
