//! Runs `uwf` as a child process and reads its report, for the server, the MCP tools, the screen and the workers.
//!
//! This is a separate crate because `uwf-temporal` does not depend on the engine.

pub mod handover;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Most bytes of an output that are read.
const MAX_OUTPUT: u64 = 8 << 20;

/// How often a call with a limit looks whether its command has ended.
const POLL: Duration = Duration::from_millis(20);

/// Exit codes that report the state of a thread: done, done with --exit-code, ended without success, waiting, at a limit. All
/// others are failures of the command.
const NEWS: [u8; 5] = [0, 10, 11, 20, 30];

/// A command of `uwf` to run.
#[derive(Debug, Clone)]
pub struct UwfCall {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its stdin.
    pub input: String,
    /// Directory it runs in.
    pub cwd: PathBuf,
    /// Variables to add to the environment of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Variables of this process to leave out.
    pub removed: Vec<OsString>,
}

impl UwfCall {
    /// A call without input, in the environment of this process.
    pub fn new(
        program: impl Into<PathBuf>,
        cwd: impl Into<PathBuf>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> UwfCall {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let (input, variables, removed) = (String::new(), Vec::new(), Vec::new());
        UwfCall { program: program.into(), args, input, cwd: cwd.into(), variables, removed }
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> UwfCall {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The command, not started yet, and the files it will write to.
    ///
    /// A file never breaks like a pipe, and the process has a group of its own, so the command ends well if its caller dies.
    ///
    /// # Errors
    /// If temporary files can't be created.
    pub fn command(&self) -> io::Result<(Command, UwfOutputFiles)> {
        let mut input = tempfile::tempfile()?;
        input.write_all(self.input.as_bytes())?;
        input.rewind()?;
        let files = UwfOutputFiles { stdout: tempfile::tempfile()?, stderr: tempfile::tempfile()? };
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).process_group(0);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        for name in &self.removed {
            command.env_remove(name);
        }
        command.stdin(input).stdout(files.stdout.try_clone()?).stderr(files.stderr.try_clone()?);
        Ok((command, files))
    }

    /// Runs the command to its end, or until the limit: then it continues by itself.
    ///
    /// # Errors
    /// If temporary files can't be created, or the program can't be started.
    pub fn run(&self, limit: Option<Duration>) -> io::Result<UwfCallOutcome> {
        let (mut command, files) = self.command()?;
        let mut child = command.spawn()?;
        let Some(limit) = limit else { return files.outcome(Some(child.wait()?)) };
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return files.outcome(Some(status));
            }
            if begun.elapsed() >= limit {
                // A child stays a zombie until it is waited for.
                std::thread::spawn(move || child.wait());
                return files.outcome(None);
            }
            std::thread::sleep(POLL);
        }
    }
}

/// The files that a command writes to.
#[derive(Debug)]
pub struct UwfOutputFiles {
    stdout: File,
    stderr: File,
}

impl UwfOutputFiles {
    /// The command's output and end. Without a status the command is still running.
    ///
    /// # Errors
    /// If the files can't be read.
    pub fn outcome(self, status: Option<ExitStatus>) -> io::Result<UwfCallOutcome> {
        let code = status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
        let end = match (status, code) {
            (None, _) => UwfCallEnd::Running,
            (Some(_), Some(code)) => UwfCallEnd::Code(code),
            (Some(_), None) => UwfCallEnd::Signal,
        };
        Ok(UwfCallOutcome { end, stdout: text(self.stdout)?, stderr: text(self.stderr)? })
    }
}

fn text(mut file: File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UwfCallEnd {
    /// With this exit code.
    Code(u8),
    /// By a signal.
    Signal,
    /// It still runs.
    Running,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UwfCallOutcome {
    /// How the command ended.
    pub end: UwfCallEnd,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl UwfCallOutcome {
    /// Its exit code, if it ended with one.
    pub fn code(&self) -> Option<u8> {
        match self.end {
            UwfCallEnd::Code(code) => Some(code),
            UwfCallEnd::Signal | UwfCallEnd::Running => None,
        }
    }

    /// Whether it reports the state of a thread, and not a failure.
    pub fn is_news(&self) -> bool {
        self.code().is_some_and(|code| NEWS.contains(&code))
    }

    /// Its report: the last JSON value, because `run` reports each step. Null if there is none.
    pub fn report(&self) -> Value {
        let values = serde_json::Deserializer::from_str(&self.stdout).into_iter::<Value>();
        values.map_while(Result::ok).last().unwrap_or_default()
    }
}
