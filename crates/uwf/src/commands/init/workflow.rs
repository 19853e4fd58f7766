//! `uwf init workflow`

use std::path::PathBuf;

use clap::ValueEnum;
use uwf_engine::root::project_files::{self, DIR};

use super::{WorkflowsDir, begin};
use crate::printer::CommandResult;
use crate::templates::WorkflowTemplate;

/// Arguments of `uwf init workflow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf init workflow solve-issue
  uwf init workflow fix-bug --template solve-issue
  uwf init workflow fix-bug --format json | jq -r .next | sh

Writes the workflow and its script into the project's .workflows, which is in the current directory or above it, up to
the repository; otherwise creates the directory. An existing file with other content is an error (exit 64).")]
pub(crate) struct Args {
    /// Name of the workflow: words joined by `-`.
    name: String,
    /// Template. Default: the template of that name, else review.
    #[arg(long)]
    template: Option<WorkflowTemplate>,
}

/// Creates a workflow file.
pub(crate) fn run(args: &Args) -> CommandResult {
    let named = || WorkflowTemplate::value_variants().iter().copied().find(|template| template.name() == args.name);
    let template = args.template.or_else(named).unwrap_or(WorkflowTemplate::Review);
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let above = project_files::dir(&cwd).filter(|dir| dir.parent() != Some(cwd.as_path()));
    let dir = above.unwrap_or_else(|| PathBuf::from(DIR));
    let place = WorkflowsDir { named: dir.clone(), dir, way: String::new() };
    begin(&place, &args.name, template, Vec::new())
}
