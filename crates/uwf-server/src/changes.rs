//! Changes: each is a `uwf` command that is started, and its report.
//!
//! The server never steps a thread itself. The command is a process in a group of its own whose output goes to files, so that
//! it ends well whatever becomes of the server.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use uwf_call::{UwfCall, UwfCallOutcome};
use uwf_engine::root::home::ROOT_VARIABLES;

use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::guard::token::SECRET_VARIABLE;
use crate::machines::tokens::MACHINE_TOKEN_VARIABLE;
use crate::open_files;

/// A command to start.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeCommand {
    /// The command line, without `uwf` and without `--format`.
    pub(crate) line: Vec<String>,
    /// Its stdin.
    pub(crate) input: String,
    /// Its working directory. Default: the server's.
    pub(crate) cwd: Option<PathBuf>,
    /// How long to wait for it; `None` waits for its end.
    pub(crate) wait: Option<Duration>,
}

impl ChangeCommand {
    /// A command line.
    pub(crate) fn new<'w>(line: impl IntoIterator<Item = &'w str>) -> ChangeCommand {
        ChangeCommand { line: line.into_iter().map(str::to_owned).collect(), ..ChangeCommand::default() }
    }

    /// Adds an option with a value. It is one word, so a value that begins with a dash is not read as an option.
    #[must_use]
    pub(crate) fn option(mut self, name: &str, value: impl std::fmt::Display) -> ChangeCommand {
        self.line.push(format!("{name}={value}"));
        self
    }

    /// Waits that long, then lets the command continue.
    #[must_use]
    pub(crate) fn waits(self, wait: Duration) -> ChangeCommand {
        ChangeCommand { wait: Some(wait), ..self }
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChangeOutcome {
    /// It ended well, and this is its report; code 20 and 30 are news about the thread.
    Reported(u8, Value),
    /// It continues.
    GoesOn,
}

/// Starts a command and waits for it, as long as it says.
pub(crate) async fn run(app: &AppState, change: ChangeCommand) -> Result<ChangeOutcome, HttpFailure> {
    let failed = |error| HttpFailure::internal(format!("cannot run uwf: {error}"));
    let args = open_files::arguments().into_iter().chain(["--format".to_owned(), "json".to_owned()]).chain(change.line);
    let call = UwfCall::new(app.bin(), change.cwd.as_deref().unwrap_or(app.cwd()), args);
    let mut call = call.variable(ROOT_VARIABLES[0], app.root());
    call.removed = vec![SECRET_VARIABLE.into(), MACHINE_TOKEN_VARIABLE.into()];
    call.input = change.input;
    let (command, files) = call.command().map_err(failed)?;
    let mut child = tokio::process::Command::from(command).spawn().map_err(failed)?;
    let status = match change.wait {
        None => child.wait().await,
        Some(limit) => match tokio::time::timeout(limit, child.wait()).await {
            Ok(status) => status,
            // Dropping the child leaves it alone; the runtime collects it once it has ended.
            Err(_) => return Ok(ChangeOutcome::GoesOn),
        },
    };
    let outcome = files.outcome(Some(status.map_err(failed)?)).map_err(failed)?;
    match outcome.code() {
        Some(code) if outcome.is_news() => Ok(ChangeOutcome::Reported(code, outcome.report())),
        _ => Err(failure(&outcome)),
    }
}

/// The failure that the command reports, or one that says how it ended.
fn failure(outcome: &UwfCallOutcome) -> HttpFailure {
    match (outcome.code(), outcome.report()) {
        (Some(code), Value::Object(report)) if report.contains_key("error") => HttpFailure::reported(code, report),
        (code, _) => {
            let how = code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with code {code}"));
            let mut report = Map::new();
            let message = format!("the command {how}: {}", outcome.stderr.trim());
            report.insert("error".to_owned(), serde_json::json!({ "message": message, "exitCode": code, "hints": [] }));
            HttpFailure::reported(code.unwrap_or(70), report)
        }
    }
}
