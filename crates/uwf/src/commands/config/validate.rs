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

use super::unused_override;
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

Also checks that programs are on PATH, that built-in agents accept their settings, and that keys are set.
Exit 78 when there are errors, with --strict also when there are warnings.")]
pub(crate) struct Args {
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
#[serde(transparent)]
struct ConfigValidationReport(CheckedFile);

impl CommandReport for ConfigValidationReport {
    fn text(&self) -> String {
        self.0.text()
    }

    fn exit_code(&self) -> u8 {
        if self.0.valid { 0 } else { ErrorKind::Config.exit_code() }
    }
}

/// Validates the configuration.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let file = context.home.config_file().display().to_string();
    let (text, mut problems) = problems(&context.home)?;
    problems.extend(older_config::unread(&context.home));
    PrintableReport::new(&ConfigValidationReport(CheckedFile::new(file, text, problems, args.strict)))
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
        problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
    }
    Ok(problems)
}
