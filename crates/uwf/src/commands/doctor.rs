//! `uwf doctor`

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use uwf_agents::{capabilities, probe, sandbox};
use uwf_core::document::FileProblem;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::env_file;
use uwf_engine::root::older_config;
use uwf_engine::root::project::{self, ProjectConfig};
use uwf_engine::verbs::doctor::{self, DoctorFinding, DoctorMode, DoctorReport, DoctorStatus};

use crate::commands::config::validate;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Problems of the configuration that a separate check reports better.
const REPORTED_ELSEWHERE: [&str; 2] = ["no-program", "no-key"];

/// Arguments of `uwf doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf doctor
  uwf doctor --fix
  uwf doctor --offline | jq '.checks[] | select(.status != \"ok\")'

--fix does what is safe: it ends agents whose keeper is dead, removes temporary files older than an hour and stale
marks, and closes .env to others. The command does not read nodes; `uwf cas verify` checks them. Exit 78 when a check
fails; warnings do not count.")]
pub(crate) struct Args {
    /// Fix problems that can be fixed safely.
    #[arg(long)]
    fix: bool,
    /// Do not contact providers.
    #[arg(long)]
    offline: bool,
}

fn line(finding: &DoctorFinding) -> String {
    let sign = match finding.status {
        DoctorStatus::Ok => style::green("✓"),
        DoctorStatus::Warn => style::yellow("!"),
        DoctorStatus::Fail => style::red("✗"),
    };
    let hint = finding.hint.as_ref().map(|hint| format!("    {} {hint}\n", style::dim("hint:"))).unwrap_or_default();
    format!("{sign} {}: {}\n{hint}", style::bold(&finding.check), finding.message.replace('\n', "; "))
}

/// Runs the checks.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let remedy = if args.fix { DoctorMode::Apply } else { DoctorMode::Tell };
    let mut checks = vec![DoctorFinding::ok("uwf", format!("version {}", env!("CARGO_PKG_VERSION")))];
    checks.extend(doctor::examine(&context.home, remedy));
    checks.extend(configuration(context, args.offline));
    let report = DoctorReport::from_findings(checks);
    let text: String = report.checks.iter().map(line).collect();
    let code = if report.ok { 0 } else { ErrorKind::Config.exit_code() };
    Ok(PrintableReport::value_with_text(json!(report), text).exits(code))
}

/// Checks the configuration, and its agents and providers.
fn configuration(context: &CommandContext, offline: bool) -> Vec<DoctorFinding> {
    let mut findings = vec![config_file(context)];
    findings.extend(project_config(context));
    findings.extend(older_config::unread(&context.home).map(|unread| {
        let finding = DoctorFinding::warn("older-config", unread.to_string());
        unread.hint.into_iter().fold(finding, DoctorFinding::hint)
    }));
    // An unreadable configuration has no agents to check; the finding above reports it.
    let with_project = || project::config(&context.home, &context.cwd);
    let Ok(config) = with_project().or_else(|_| context.home.config()) else { return findings };
    let env_file = env_file::read(&context.home.env_file()).unwrap_or_default();
    let secrets: BTreeSet<String> = config.secret_names();
    findings.extend(probe::agents(&config, &secrets));
    findings.extend(capabilities::findings(&context.home, &config));
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    findings.extend(sandbox::probe::findings(context.home.root(), &config, &here));
    if offline {
        return findings;
    }
    let lookup = |name: &str| env_file::value_of(name, &env_file);
    findings.extend(probe::providers(&config, &lookup));
    findings
}

fn config_file(context: &CommandContext) -> DoctorFinding {
    let path = context.home.config_file();
    if !path.exists() {
        let message = format!("{} does not exist: the defaults apply", path.display());
        return DoctorFinding::warn("config", message).hint("`uwf setup` creates it");
    }
    let problems = match validate::problems(&context.home) {
        Ok((_, problems)) => problems,
        Err(error) => return DoctorFinding::of_error("config", &error),
    };
    of_problems("config", &path, &problems)
}

/// The worst problem of a configuration file.
fn of_problems(check: &str, path: &Path, problems: &[FileProblem]) -> DoctorFinding {
    let own: Vec<_> = problems.iter().filter(|problem| !REPORTED_ELSEWHERE.contains(&problem.code)).collect();
    let Some(first) = own.iter().find(|problem| problem.is_error()).or(own.first()) else {
        return DoctorFinding::ok(check, format!("{} is valid", path.display()));
    };
    let finding = if first.is_error() {
        DoctorFinding::fail(check, first.to_string())
    } else {
        DoctorFinding::warn(check, first.to_string())
    };
    finding.hint("`uwf config validate` shows all")
}

/// The files of the project of the current directory.
fn project_config(context: &CommandContext) -> Vec<DoctorFinding> {
    const CHECK: &str = "project-config";
    let files = match validate::project_problems(context) {
        Ok(files) => files,
        Err(error) => return vec![DoctorFinding::of_error(CHECK, &error)],
    };
    let finding = |(project, problems): (ProjectConfig, Vec<FileProblem>)| {
        let finding = of_problems(CHECK, &project.file, &problems);
        match project.file_ignored().filter(|_| finding.status == DoctorStatus::Ok) {
            Some(ignored) => DoctorFinding::warn(CHECK, ignored),
            None => finding,
        }
    };
    let mut findings: Vec<DoctorFinding> = files.into_iter().map(finding).collect();
    // One file may be valid only with another that is ignored.
    if findings.iter().all(|finding| finding.status != DoctorStatus::Fail)
        && let Err(error) = project::checked_config(&context.home, &context.cwd)
    {
        findings.push(DoctorFinding::of_error(CHECK, &error));
    }
    findings
}
