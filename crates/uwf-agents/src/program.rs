//! Runs an agent's program. Its output is read as it comes, shown as a sign of life, and kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use agent_kit::spawn::without_secrets;
use agent_kit::{Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::recorded::{AttemptOpening, AttemptOutputFiles};
use uwf_engine::error::AtPath;

use crate::capped_output::CappedOutput;
use crate::model_exchange::millis;
use crate::progress;
use crate::sandbox::{self, ProgramSandbox};

/// Bytes of a line that are passed on at once. A longer line is passed on in pieces.
const MAX_LINE: u64 = 1 << 20;

/// Time between checks for the program's exit while it prints nothing.
const LOOK: Duration = Duration::from_millis(50);

/// The same after it has closed its output, when it has most likely exited.
const LOOK_CLOSED: Duration = Duration::from_millis(1);

/// Time to wait for output after the program has exited: a process it left behind may hold its stdout open.
const DRAIN: Duration = Duration::from_secs(2);

/// The same if the process left behind continues to print.
const MAX_DRAIN: Duration = Duration::from_secs(30);

/// Time between TERM and KILL for a program over its time limit.
const GRACE: Duration = Duration::from_secs(5);

/// Bytes kept of stderr.
const STDERR_CAP: usize = 256 << 10;

/// A program to run within an attempt.
pub(crate) struct AttemptProgram<'a> {
    opened: &'a AttemptOpening,
    command: Command,
    timeout: Option<Duration>,
    transcript: Option<PathBuf>,
    _sandbox: Option<ProgramSandbox>,
}

/// Result of a program that has ended.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Its stdout, with the middle cut out if it exceeds the output cap.
    pub(crate) stdout: String,
    /// Its stderr, likewise, with a lower cap.
    pub(crate) stderr: String,
    /// Milliseconds it took.
    pub(crate) duration_ms: u64,
}

/// How a process ended, in words.
pub(crate) fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    }
}

impl ProgramRun {
    /// How it ended, in words.
    pub(crate) fn how(&self) -> String {
        how_it_ended(self.status)
    }

    /// An agent's failure from its program's exit, with the last line on stderr, otherwise on stdout.
    pub(crate) fn failure(&self, agent: &str, is_noise: impl Fn(&str) -> bool) -> Error {
        let last = |text: &str| {
            text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !is_noise(line)).map(str::to_owned)
        };
        let complaint = last(&self.stderr);
        let has_complaint = complaint.is_some();
        let words = complaint.or_else(|| last(&self.stdout));
        let words = words.map(|words| format!("; its last words: {words}")).unwrap_or_default();
        let error = Error::agent_failed(format!("agent `{agent}` {}{words}", self.how()));
        match has_complaint {
            true => error.with_last_words(&self.stderr),
            false => error.with_last_printed(&self.stdout),
        }
    }
}

/// Something the program printed.
enum PrintedPiece {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl<'a> AttemptProgram<'a> {
    /// A program on `PATH`, without the secrets that its agent was not given, and in the agent's sandbox. It works in the thread's
    /// workspace.
    ///
    /// # Errors
    /// `Config` if the sandbox cannot be kept.
    pub(crate) fn new(opened: &'a AttemptOpening, program: &str) -> Result<AttemptProgram<'a>> {
        let sandbox = ProgramSandbox::of_attempt(opened, program)?;
        let mut command = sandbox::command(sandbox.as_ref(), program);
        without_secrets(&mut command, opened);
        sandbox.iter().for_each(|sandbox| sandbox.set_variables(&mut command));
        // Its own group can be killed without killing this process. The keeper finds it by descent.
        command
            .current_dir(&opened.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        Ok(AttemptProgram { opened, command, timeout: None, transcript: None, _sandbox: sandbox })
    }

    /// The command, to set its arguments and environment.
    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Limits its time, in addition to the engine's limits.
    pub(crate) fn limit(mut self, timeout: Option<Duration>) -> AttemptProgram<'a> {
        self.timeout = timeout;
        self
    }

    /// Also writes its stdout into the attempt's file, which survives this process.
    pub(crate) fn keeping(mut self, files: &AttemptOutputFiles) -> AttemptProgram<'a> {
        self.transcript = Some(files.raw.clone());
        self
    }

    /// Runs it to its end. Each line of its stdout is passed to `on_line`; its stderr is copied to ours. `on_silence` is called whenever it
    /// has printed nothing for a moment.
    ///
    /// # Errors
    /// `Config` if it cannot be started, `AgentFailed` if its time ran out, `Io`.
    pub(crate) fn run(mut self, mut on_line: impl FnMut(&str), on_silence: impl FnMut()) -> Result<ProgramRun> {
        let begun = Instant::now();
        let mut transcript = self.transcript.as_deref().map(agent_process::create).transpose()?;
        let mut process = self.command.spawn().map_err(|source| self.cannot_start(&source))?;
        let (send, printed) = channel();
        process.stdout.take().into_iter().for_each(|pipe| forward(pipe, PrintedPiece::Stdout, send.clone()));
        process.stderr.take().into_iter().for_each(|pipe| forward(pipe, PrintedPiece::Stderr, send.clone()));
        drop(send);
        let cap = usize::try_from(self.opened.output_cap).unwrap_or(usize::MAX);
        let (mut stdout, mut stderr) = (CappedOutput::new(cap), CappedOutput::new(STDERR_CAP));
        let take = |piece: PrintedPiece| match piece {
            PrintedPiece::Stdout(piece) => {
                if let Some((file, path)) = transcript.as_mut().zip(self.transcript.as_ref()) {
                    file.write_all(&piece).path_context("write", path)?;
                }
                on_line(String::from_utf8_lossy(&piece).trim_end_matches(['\n', '\r']));
                stdout.push(&piece);
                Ok(())
            }
            PrintedPiece::Stderr(piece) => {
                progress::piece(&piece);
                stderr.push(&piece);
                Ok(())
            }
        };
        let status = self.watch(&mut process, &printed, take, on_silence)?;
        let duration_ms = millis(begun.elapsed());
        Ok(ProgramRun { status, stdout: stdout.text(), stderr: stderr.text(), duration_ms })
    }

    fn watch(
        &self,
        process: &mut Child,
        printed: &Receiver<PrintedPiece>,
        mut take: impl FnMut(PrintedPiece) -> Result<()>,
        mut on_silence: impl FnMut(),
    ) -> Result<ExitStatus> {
        let begun = Instant::now();
        let mut heard = begun;
        let mut exited: Option<Instant> = None;
        while exited.is_none_or(|at| heard.max(at).elapsed() < DRAIN && at.elapsed() < MAX_DRAIN) {
            match printed.recv_timeout(LOOK) {
                Ok(piece) => {
                    heard = Instant::now();
                    take(piece)?;
                }
                Err(RecvTimeoutError::Timeout) => on_silence(),
                Err(RecvTimeoutError::Disconnected) if exited.is_some() => break,
                // It has closed its output but continues to run.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_CLOSED),
            }
            if exited.is_none() {
                self.check_time(process, begun)?;
                exited = matches!(process.try_wait(), Ok(Some(_))).then(Instant::now);
            }
        }
        process.wait().map_err(|error| {
            Error::agent_failed(format!("cannot wait for agent `{}`: {error}", self.opened.agent.name))
        })
    }

    fn check_time(&self, process: &mut Child, begun: Instant) -> Result<()> {
        match self.timeout.filter(|limit| begun.elapsed() > *limit) {
            None => Ok(()),
            Some(limit) => {
                end(process);
                let name = &self.opened.agent.name;
                let message = format!("agent `{name}` was ended after its timeout of {} s", limit.as_secs_f64());
                Err(Error::agent_failed(message).hint("raise `timeout` in the agent's `config`"))
            }
        }
    }

    fn cannot_start(&self, source: &std::io::Error) -> Error {
        let program = self.command.get_program().to_string_lossy();
        let args: Vec<String> = self.command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        agent_process::cannot_start(&program, &args, &self.opened.workspace, source)
    }
}

/// Sends the output of a pipe line by line, from a separate thread.
fn forward(pipe: impl Read + Send + 'static, wrap: fn(Vec<u8>) -> PrintedPiece, printed: Sender<PrintedPiece>) {
    std::thread::spawn(move || {
        let mut source = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            match source.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if printed.send(wrap(line)).is_err() {
                return;
            }
        }
    });
}

/// Ends a program and the processes it started: TERM, a grace period, KILL.
fn end(process: &mut Child) {
    let Some(group) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) else { return };
    // A group that has exited needs no signal.
    let _ = kill_process_group(group, Signal::TERM);
    let begun = Instant::now();
    while begun.elapsed() < GRACE && !matches!(process.try_wait(), Ok(Some(_))) {
        std::thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = process.wait();
}
