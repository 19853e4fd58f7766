//! Runs the command `uwf`, which does the actual work.

use std::future::Future;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Command;
use uwf_call::UwfCall;

use crate::address::is_secret;

/// How the command is called.
#[derive(Debug, Clone)]
pub(crate) struct UwfProgram {
    /// The program.
    pub(crate) program: PathBuf,
    /// Variables to add to those of this process.
    pub(crate) variables: Vec<(String, PathBuf)>,
    /// Directory to run it in.
    pub(crate) cwd: PathBuf,
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct UwfRun {
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<u8>,
    /// Its report.
    pub(crate) report: Value,
}

impl UwfRun {
    /// A text in the report.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.report[key].as_str().map(str::to_owned)
    }

    /// The reason for its failure, for this machine's log.
    pub(crate) fn message(&self) -> &str {
        self.report["error"]["message"].as_str().unwrap_or("it said nothing")
    }
}

impl UwfProgram {
    /// Runs the command to its end. If `ended` is ready first, sends it TERM and waits for it.
    ///
    /// Its output goes to files, and it has a process group of its own, so it ends properly even if this process dies.
    pub(crate) async fn run(&self, args: &[&str], ended: impl Future<Output = ()>) -> std::io::Result<UwfRun> {
        let mut call = UwfCall::new(&self.program, &self.cwd, ["--format", "json"].iter().chain(args));
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
                    // It may have just ended.
                    let _ = kill_process(pid, Signal::TERM);
                }
                child.wait().await?
            }
        };
        let outcome = files.outcome(Some(status))?;
        Ok(UwfRun { code: outcome.code(), report: outcome.report() })
    }
}
