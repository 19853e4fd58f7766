//! Changes: each is a `uwf` command that is started, and its report.
//!
//! The server never steps a thread itself. The command is a process in a group of its own whose output goes to files, so that
//! it ends well whatever becomes of the server.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value};
use uwf_engine::root::home::ROOT_VARIABLES;

use crate::app::App;
use crate::failure::Failure;
use crate::open_files;

/// Most bytes of a report that are read.
const MAX_REPORT: u64 = 8 << 20;

/// A command to start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    /// The command line, without `uwf` and without `--format`.
    pub(crate) line: Vec<String>,
    /// What it gets on stdin.
    pub(crate) input: String,
    /// Directory it is called in; the server's own if nobody says.
    pub(crate) cwd: Option<PathBuf>,
    /// How long it is waited for; `None` is to its end.
    pub(crate) wait: Option<Duration>,
}

impl Change {
    /// A command line.
    pub(crate) fn new<'w>(line: impl IntoIterator<Item = &'w str>) -> Change {
        Change { line: line.into_iter().map(str::to_owned).collect(), ..Change::default() }
    }

    /// Adds an option with a value. It is one word, so that a value that begins with a dash is no option.
    #[must_use]
    pub(crate) fn option(mut self, name: &str, value: impl std::fmt::Display) -> Change {
        self.line.push(format!("{name}={value}"));
        self
    }

    /// Waits so long, and lets it continue then.
    #[must_use]
    pub(crate) fn waits(self, wait: Duration) -> Change {
        Change { wait: Some(wait), ..self }
    }
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Done {
    /// It ended well, and this is its report; code 20 and 30 are news about the thread.
    Reported(u8, Value),
    /// It continues.
    GoesOn,
}

/// Starts a command and waits for it, as long as it says.
///
/// # Errors
/// The report of a command that failed.
pub(crate) async fn run(app: &App, change: Change) -> Result<Done, Failure> {
    let failed = |error| Failure::internal(format!("cannot run uwf: {error}"));
    let files = || -> std::io::Result<(File, File, File)> {
        let mut input = tempfile::tempfile()?;
        input.write_all(change.input.as_bytes())?;
        input.seek(SeekFrom::Start(0))?;
        Ok((input, tempfile::tempfile()?, tempfile::tempfile()?))
    };
    let (input, stdout, stderr) = files().map_err(failed)?;
    let mut command = tokio::process::Command::new(app.bin());
    command.args(open_files::arguments()).args(["--format", "json"]).args(&change.line);
    command.env(ROOT_VARIABLES[0], app.root()).env_remove(crate::guard::token::SECRET_VARIABLE);
    command.env_remove(crate::machines::tokens::MACHINE_TOKEN_VARIABLE);
    command.current_dir(change.cwd.as_deref().unwrap_or(app.cwd())).process_group(0);
    command.stdin(Stdio::from(input));
    command.stdout(stdout.try_clone().map_err(failed)?).stderr(stderr.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    let status = match change.wait {
        None => child.wait().await,
        Some(limit) => match tokio::time::timeout(limit, child.wait()).await {
            Ok(status) => status,
            // Dropping the child leaves it alone; the runtime collects it once it has ended.
            Err(_) => return Ok(Done::GoesOn),
        },
    };
    let code = status.map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
    let report = text(stdout).map_err(failed)?;
    match code {
        Some(code @ (0 | 1 | 10 | 20 | 30)) => Ok(Done::Reported(code, last_value(&report))),
        code => Err(failure(code, &report, &text(stderr).map_err(failed)?)),
    }
}

fn failure(code: Option<u8>, report: &str, talk: &str) -> Failure {
    match (code, last_value(report)) {
        (Some(code), Value::Object(report)) if report.contains_key("error") => Failure::reported(code, report),
        (code, _) => {
            let how = code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with code {code}"));
            let mut report = Map::new();
            let message = format!("the command {how}: {}", talk.trim());
            report.insert("error".to_owned(), serde_json::json!({ "message": message, "exitCode": code, "hints": [] }));
            Failure::reported(code.unwrap_or(70), report)
        }
    }
}

/// The report: a command may print more than one, such as `run`, which reports each step.
fn last_value(report: &str) -> Value {
    serde_json::Deserializer::from_str(report).into_iter::<Value>().map_while(Result::ok).last().unwrap_or_default()
}

fn text(mut file: File) -> std::io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(MAX_REPORT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
