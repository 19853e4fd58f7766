//! `uwf config validate`

use serde::Serialize;
use uwf_core::config::UwfConfig;
use uwf_core::document::{FileProblem, SourceDocument};
use uwf_engine::error::ErrorKind;
use uwf_engine::error::Result;
use uwf_engine::root::config_text;
use uwf_engine::root::env_file;
use uwf_engine::root::home::Home;
use uwf_engine::root::older_config;
use uwf_engine::root::project::{self, ProjectConfig, ProjectTrust};

use super::{hook_problems, unused_override};
use crate::checked::CheckedFile;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};

/// Arguments of `uwf config validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config validate
  uwf config validate --strict
  uwf config validate | jq '.problems[] | [.line, .message]'

Also checks that programs are on PATH, that built-in agents accept their settings, and that keys are set, and the
.workflows/config.yaml and config.local.yaml of the project of the current directory, trusted or not. The programs of
an untrusted file are not checked.
Exit 78 when there are errors, with --strict also when there are warnings.")]
pub(crate) struct Args {
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct ConfigValidationReport {
    #[serde(flatten)]
    own: CheckedFile,
    /// The files of the project of the current directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    project: Vec<CheckedProjectFile>,
}

/// The configuration of a project, checked over the user's.
#[derive(Serialize)]
struct CheckedProjectFile {
    #[serde(flatten)]
    checked: CheckedFile,
    /// Whether it applies.
    trusted: bool,
    #[serde(skip)]
    ignored: Option<String>,
}

impl CommandReport for ConfigValidationReport {
    fn text(&self) -> String {
        let project = self.project.iter().map(|project| {
            let ignored = project.ignored.as_ref().map(|why| format!("{why}\n")).unwrap_or_default();
            project.checked.text() + &ignored
        });
        self.own.text() + &project.collect::<String>()
    }

    fn exit_code(&self) -> u8 {
        let is_valid = self.own.valid && self.project.iter().all(|project| project.checked.valid);
        if is_valid { 0 } else { ErrorKind::Config.exit_code() }
    }
}

/// Validates the configuration.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let file = context.home.config_file().display().to_string();
    let (text, mut problems) = problems(&context.home)?;
    problems.extend(older_config::unread(&context.home));
    let own = CheckedFile::new(file, text, problems, args.strict);
    let project = project_problems(context)?.into_iter().map(|(project, problems)| CheckedProjectFile {
        trusted: project.trust == ProjectTrust::Trusted,
        ignored: project.file_ignored(),
        checked: CheckedFile::new(project.file.display().to_string(), project.text().to_owned(), problems, args.strict),
    });
    PrintableReport::new(&ConfigValidationReport { own, project: project.collect() })
}

/// The files of the project of the current directory, with all their problems.
///
/// # Errors
/// `Io`, and `Config` if the file is not text.
pub(crate) fn project_problems(context: &CommandContext) -> Result<Vec<(ProjectConfig, Vec<FileProblem>)>> {
    // Problems of the user's own file are reported there.
    let user = context.home.config().unwrap_or_default();
    let env_file = env_file::read(&context.home.env_file())?;
    let is_set = |name: &str| env_file::value_of(name, &env_file).is_some();
    let mut files = Vec::new();
    for (file, config, mut problems) in project::check(&context.home, &context.cwd, &user)? {
        // The check starts programs that describe themselves, so an untrusted file gets none.
        let is_trusted = file.trust == ProjectTrust::Trusted;
        if let Some(document) = is_trusted.then(|| SourceDocument::parse(file.text(), &file.file.display().to_string()))
            && let Ok(document) = document
        {
            problems.extend(uwf_agents::check::check(&own_part(config, &document), &document, &is_set));
            problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
        }
        files.push((file, problems));
    }
    Ok(files)
}

/// The part of a configuration that this file of a project declares, with the models of all files.
fn own_part(mut config: UwfConfig, document: &SourceDocument) -> UwfConfig {
    let declared = document.value.get("agents");
    config.agents.retain(|alias, _| declared.is_some_and(|agents| agents.get(alias).is_some()));
    config.providers.clear();
    config
}

/// The text of the configuration and all its problems on this machine, ordered by position.
///
/// # Errors
/// `Io`; `Config` if the file is not text, or if `.env` is unreadable.
pub(crate) fn problems(home: &Home) -> Result<(String, Vec<FileProblem>)> {
    let text = config_text::read(&home.config_file())?;
    let problems = problems_of(home, &text)?;
    Ok((text, problems))
}

/// All problems that a configuration with this text would have on this machine, ordered by position.
///
/// # Errors
/// `Config` if `.env` is unreadable.
pub(crate) fn problems_of(home: &Home, text: &str) -> Result<Vec<FileProblem>> {
    let origin = home.config_file().display().to_string();
    let (config, mut problems) = UwfConfig::parse(text, &origin);
    // An unreadable or empty file has nothing to check.
    if let Ok(document) = SourceDocument::parse(text, &origin) {
        let env_file = env_file::read(&home.env_file())?;
        let is_set = |name: &str| env_file::value_of(name, &env_file).is_some();
        problems.extend(uwf_agents::check::check(&config, &document, &is_set));
        problems.extend(unused_override::problems(home, &config, &document));
        let value_of = |name: &str| env_file::value_of(name, &env_file);
        problems.extend(hook_problems::problems(home, &config, &document, &value_of));
        problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
    }
    Ok(problems)
}
