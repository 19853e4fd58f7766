//! `uwf init …`: creates starter files.

mod workflow;
mod workspace;

use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_core::document::FileProblem;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::project_files;

use crate::error::CommandError;
use crate::file_schemas;
use crate::new_files::{self, StarterFile, StarterFileReport};
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::templates::WorkflowTemplate;

/// Directory of the scripts, inside the directory of the workflows.
const SCRIPTS: &str = "mock";

/// Directory of the schemas, inside the directory of the workflows.
const SCHEMAS: &str = "schemas";

/// Commands of the group.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Prepare a project: a first workflow that runs at once, a configuration, schemas for editors.
    Workspace(workspace::Args),
    /// Add a workflow to the project, made from a template, with a script that plays it.
    Workflow(workflow::Args),
}

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  uwf init workspace                                   in the current directory
  uwf init workflow fix-bug --template solve-issue     one more workflow

Both create a workflow that runs at once, played by a script, and print the command to run it. They overwrite no file.";

/// Runs a command of the group.
pub(crate) fn run(command: &Command) -> CommandResult {
    match command {
        Command::Workspace(args) => workspace::run(args),
        Command::Workflow(args) => workflow::run(args),
    }
}

/// The created files.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitReport {
    workflow: String,
    template: &'static str,
    /// New files.
    written: Vec<PathBuf>,
    /// Existing files with the same content.
    kept: Vec<PathBuf>,
    /// The command to run next.
    next: String,
    /// How to renew schemas of another version, and how to undo this outside a repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl CommandReport for InitReport {
    fn text(&self) -> String {
        let written = self.written.iter().map(|path| format!("wrote {}\n", path.display()));
        let kept = self.kept.iter().map(|path| format!("kept {}\n", path.display()));
        let notes = self.notes.iter().map(|note| format!("note: {note}\n"));
        let files: String = written.chain(kept).chain(notes).collect();
        let next = &self.next;
        format!(
            "{files}\nplay it with its script in place of agents:\n  {next}\nwith your own agents: uwf setup, then the same without --agent\n"
        )
    }
}

/// A `.workflows` directory, and how to get there.
struct WorkflowsDir {
    dir: PathBuf,
    /// The command to type to get into the project, if the next command is not typed in the current directory.
    way: String,
    /// The directory's path from there.
    named: PathBuf,
}

/// Creates a workflow with its script, the files in `more`, and the schemas.
fn begin(
    place: &WorkflowsDir,
    name: &str,
    template: WorkflowTemplate,
    more: Vec<StarterFile>,
) -> Result<PrintableReport, CommandError> {
    let WorkflowsDir { dir, way, named } = place;
    let file = format!("{name}.yaml");
    let workflow = StarterFile { path: dir.join(&file), content: template.workflow(name) };
    check(name, template)?;
    refuse_second(dir, name)?;
    let script = StarterFile { path: dir.join(SCRIPTS).join(&file), content: template.script().to_owned() };
    // The workflow comes first, so that only one of two processes creating it at once succeeds.
    let files: Vec<StarterFile> = [workflow, script].into_iter().chain(more).collect();
    let outside = outside_repository(dir);
    let mut made = new_files::make(&files)?;
    let notes = outside.into_iter().chain(schemas(dir, &mut made)?).collect();
    let agent = format!("uwf-mock {}", quoted(&named.join(SCRIPTS).join(&file).display().to_string()));
    let next = format!("{way}uwf run {} -p {} --agent {}", quoted(name), quoted(template.task()), quoted(&agent));
    let StarterFileReport { written, kept } = made;
    PrintableReport::new(&InitReport {
        workflow: name.to_owned(),
        template: template.name(),
        written,
        kept,
        next,
        notes,
    })
}

/// A note if `dir` becomes a new directory of a place that exists and is in no repository: `/etc` is easily named by mistake.
fn outside_repository(dir: &Path) -> Option<String> {
    let project = std::path::absolute(dir).ok()?.parent()?.to_owned();
    let is_outside = project.is_dir() && !dir.exists() && !project_files::is_in_repository(&project);
    is_outside
        .then(|| format!("{} is not in a git repository; to undo this, remove {}", project.display(), dir.display()))
}

/// Creates the schemas that the files name. A schema of another uwf version is kept, and a note says how to renew it.
fn schemas(dir: &Path, made: &mut StarterFileReport) -> Result<Vec<String>, CommandError> {
    let mut notes = Vec::new();
    for schema in ["workflow", "config", "mock"].into_iter().filter_map(file_schemas::find) {
        let path = dir.join(SCHEMAS).join(format!("{}.json", schema.name));
        match new_files::make(&[StarterFile { path: path.clone(), content: schema.text() }]) {
            Ok(StarterFileReport { written, kept }) => {
                made.written.extend(written);
                made.kept.extend(kept);
            }
            Err(error) if error.kind == ErrorKind::Usage => {
                let path = path.display();
                notes.push(format!("{path} is of another version; `uwf schema {} > {path}` renews it", schema.name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(notes)
}

/// Rejects an invalid name.
fn check(name: &str, template: WorkflowTemplate) -> Result<(), CommandError> {
    if format!("{name}.yaml") == project_files::CONFIG {
        let why = "is the name of the project's configuration";
        return Err(CommandError::usage(format!("`{name}` {why}")).hint("choose another name"));
    }
    // In quotes, so that any name is a YAML string.
    let text = template.workflow(&serde_json::Value::from(name).to_string());
    let parsed = uwf_core::workflow::check(&text, "the workflow", Some(name));
    match parsed.problems.into_iter().find(FileProblem::is_refused_strictly) {
        None => Ok(()),
        Some(FileProblem { message, hint, .. }) => {
            let error = CommandError::usage(message);
            Err(match hint {
                Some(hint) => error.hint(hint),
                None => error.hint("use words joined by `-`, such as fix-bug"),
            })
        }
    }
}

/// Rejects a second file of the same workflow: one with the same name and another extension.
fn refuse_second(dir: &Path, name: &str) -> Result<(), CommandError> {
    let own = dir.join(format!("{name}.yaml"));
    let second = project_files::in_dir(dir).into_iter().find(|(stem, path)| stem == name && *path != own);
    match second {
        None => Ok(()),
        Some((_, path)) => {
            Err(CommandError::usage(format!("the workflow `{name}` already exists: {}", path.display()))
                .hint("choose another name"))
        }
    }
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}
