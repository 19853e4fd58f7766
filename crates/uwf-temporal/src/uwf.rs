//! The command `uwf`, which does what is done.

use std::fs::File;
use std::future::Future;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Command;

use crate::address::is_secret;

/// Most bytes of a report that are read.
const MAX_REPORT: u64 = 8 << 20;

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
    /// Its output goes to files and it has a process group of its own: whatever becomes of this process, it ends well.
    pub(crate) async fn run(&self, args: &[&str], ended: impl Future<Output = ()>) -> std::io::Result<Ran> {
        let stdout = tempfile::tempfile()?;
        let mut command = Command::new(&self.program);
        command.args(["--format", "json"]).args(args).envs(self.variables.iter().cloned());
        for (variable, _) in std::env::vars_os().filter(|(variable, _)| is_secret(&variable.to_string_lossy())) {
            command.env_remove(variable);
        }
        command.current_dir(&self.cwd).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::from(stdout.try_clone()?)).stderr(Stdio::null());
        let mut child = command.spawn()?;
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
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(Ran { code, report: last_value(stdout)? })
    }
}

fn last_value(mut file: File) -> std::io::Result<Value> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(MAX_REPORT).read_to_end(&mut bytes)?;
    Ok(serde_json::Deserializer::from_slice(&bytes)
        .into_iter::<Value>()
        .map_while(Result::ok)
        .last()
        .unwrap_or_default())
}
