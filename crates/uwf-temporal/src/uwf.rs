//! The command `uwf`, which does what is done.

use std::future::Future;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Command;
use uwf_call::Call;

use crate::address::is_secret;

/// How the command is called.
#[derive(Debug, Clone)]
pub(crate) struct Uwf {
    /// The program.
    pub(crate) program: PathBuf,
    /// Variables it gets besides those of this process.
    pub(crate) variables: Vec<(String, PathBuf)>,
    /// Directory it is called in.
    pub(crate) cwd: PathBuf,
}

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<u8>,
    /// Its report.
    pub(crate) report: Value,
}

impl Ran {
    /// A text of the report.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.report[key].as_str().map(str::to_owned)
    }

    /// Why it failed, for the log of this machine.
    pub(crate) fn message(&self) -> &str {
        self.report["error"]["message"].as_str().unwrap_or("it said nothing")
    }
}

impl Uwf {
    /// Runs it to its end. When `ended` is ready first, it is told to end with TERM, and waited for.
    ///
    /// Whatever becomes of this process, it ends well: see [`Call::command`].
    pub(crate) async fn run(&self, args: &[&str], ended: impl Future<Output = ()>) -> std::io::Result<Ran> {
        let mut call = Call::new(&self.program, &self.cwd, ["--format", "json"].iter().chain(args));
        for (variable, value) in &self.variables {
            call = call.variable(variable, value);
        }
        let secrets = std::env::vars_os().map(|(variable, _)| variable);
        call.removed = secrets.filter(|variable| is_secret(&variable.to_string_lossy())).collect();
        let (command, files) = call.command()?;
        let mut child = Command::from(command).spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let status = tokio::select! {
            status = child.wait() => status?,
            () = ended => {
                if let Some(pid) = pid {
                    // It may have ended just now.
                    let _ = kill_process(pid, Signal::TERM);
                }
                child.wait().await?
            }
        };
        let outcome = files.outcome(Some(status))?;
        Ok(Ran { code: outcome.code(), report: outcome.report() })
    }
}
