//! `uwf workflow validate`

use std::path::Path;

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use uwf_core::document::FileProblem;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::project_files;
use uwf_engine::verbs::validate::{self, WorkflowValidation};
use uwf_engine::verbs::workflows::find_workflow::{self, WorkflowLocation};

use crate::checked::CheckedFile;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::role_commands::RoleCommands;

/// Arguments of `uwf workflow validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow validate solve-issue.yaml
  uwf workflow validate --strict flows/*.yaml
  uwf workflow validate                       the project's .workflows
  uwf workflow validate solve-issue           what the name stands for
  generate-flow | uwf workflow validate -
  uwf workflow validate flow.yaml | jq '.[].problems[] | [.line, .message]'

Exit 65 when a file has errors, with --strict also when it has warnings.")]
pub(crate) struct Args {
    /// Files (YAML or JSON), `-` for stdin, or names and hashes of stored workflows. Default: the
    /// project's .workflows directory.
    #[arg(value_name = "FILE|NAME|-", add = ArgValueCompleter::new(complete::workflows_or_any_file))]
    workflows: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
#[serde(transparent)]
struct WorkflowValidationReport(Vec<CheckedFile>);

impl CommandReport for WorkflowValidationReport {
    fn text(&self) -> String {
        self.0.iter().map(CheckedFile::text).collect()
    }

    fn exit_code(&self) -> u8 {
        if self.0.iter().all(|file| file.valid) { 0 } else { ErrorKind::Data.exit_code() }
    }
}

/// Validates workflows.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let typed = if args.workflows.is_empty() { of_project(context)? } else { args.workflows.clone() };
    let mut files = Vec::with_capacity(typed.len());
    for typed in &typed {
        let (origin, WorkflowValidation { text, mut problems, draft }) = validated(context, typed)?;
        let commands = draft.as_ref().map(RoleCommands::of_draft).unwrap_or_default();
        problems.extend(capabilities(context, &text, &origin));
        problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
        files.push(CheckedFile::new(origin, text, problems, args.strict).with_commands(commands));
    }
    PrintableReport::new(&WorkflowValidationReport(files))
}

/// Capabilities that roles require but their agents on this machine don't declare.
fn capabilities(context: &CommandContext, text: &str, origin: &str) -> Vec<FileProblem> {
    // A bad configuration is not a problem of the workflow.
    let config = context.config().ok();
    config.map(|config| uwf_agents::capabilities::problems(&config, text, origin)).unwrap_or_default()
}

/// The workflow files of the project.
fn of_project(context: &CommandContext) -> Result<Vec<String>, CommandError> {
    let hint = "give a workflow to check: uwf workflow validate FILE|NAME|-";
    let dir = project_files::dir(&context.cwd).ok_or_else(|| {
        let what = format!("directory {} does not exist here or above, up to the repository", project_files::DIR);
        CommandError::usage(what).hint(hint)
    })?;
    let files: Vec<String> = project_files::in_dir(&dir).iter().map(|(_, file)| file.display().to_string()).collect();
    if files.is_empty() {
        let error = CommandError::new(ErrorKind::NotFound, format!("{} has no workflow files", dir.display()));
        return Err(error.hint("they end in .yaml, .yml or .json"));
    }
    Ok(files)
}

/// Validates a file, stdin, or a workflow with this name or hash.
fn validated(context: &CommandContext, typed: &str) -> Result<(String, WorkflowValidation), CommandError> {
    let home = &context.home;
    let path = Path::new(typed);
    if typed == "-" {
        let text = input::from_stdin()?;
        return Ok(("stdin".to_owned(), validate::text(home, text, "stdin", None)?));
    }
    let is_name = path.components().count() == 1 && path.extension().is_none() && !path.exists();
    if !is_name {
        return Ok((typed.to_owned(), validate::file(home, path)?));
    }
    Ok(match find_workflow::locate(home, typed, &context.cwd)? {
        WorkflowLocation::File(path, _) => (path.display().to_string(), validate::file(home, &path)?),
        WorkflowLocation::Stored(hash, _) => (typed.to_owned(), validate::stored(home, hash, typed)?),
    })
}
