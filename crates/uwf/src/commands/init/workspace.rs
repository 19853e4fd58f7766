//! `uwf init workspace`

use std::path::{Path, PathBuf};

use uwf_engine::error::ErrorKind;
use uwf_engine::root::project_files::{CONFIG, DIR};

use super::{WorkflowsDir, begin, quoted};
use crate::new_files::StarterFile;
use crate::printer::CommandResult;
use crate::templates::{self, WorkflowTemplate};

/// Arguments of `uwf init workspace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf init workspace
  uwf init workspace ~/src/my-project --template solve-issue
  uwf init workspace new-project && cd new-project

Creates in DIR/.workflows a workflow, a script that plays it, an empty configuration of the project, and the schemas
with which editors complete and check these files. If you run it again, it changes nothing; an existing file with
other content is an error (exit 64).")]
pub(crate) struct Args {
    /// The project; created if missing.
    #[arg(default_value = ".", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
    /// The first workflow.
    #[arg(long, default_value = "review")]
    template: WorkflowTemplate,
}

/// Creates a workspace.
pub(crate) fn run(args: &Args) -> CommandResult {
    let is_here = args.dir == Path::new(".");
    let place = WorkflowsDir {
        dir: if is_here { PathBuf::from(DIR) } else { args.dir.join(DIR) },
        way: if is_here { String::new() } else { format!("cd {} && ", quoted(&args.dir.display().to_string())) },
        named: PathBuf::from(DIR),
    };
    let config = StarterFile { path: place.dir.join(CONFIG), content: templates::CONFIG.to_owned() };
    let begun = begin(&place, args.template.name(), args.template, vec![config]);
    begun.map_err(|error| match error.kind {
        ErrorKind::Usage => error.hint("`uwf init workflow NAME` adds a workflow to a project"),
        _ => error,
    })
}
