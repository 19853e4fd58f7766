//! The agent's process and its pipes. One thread writes, so that an agent that does not read cannot block us from listening. One thread
//! copies its stderr. The caller's thread reads its stdout and handles signals.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_kit::json_rpc::{MessageLine, MessageLines};
use agent_kit::spawn::without_secrets;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use uwf_engine::attempt::agent_process::{SignalListener, cannot_start};
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::error::{Error, Result};

use super::messages::{self, AcpMessage};
use super::settings::AcpLaunch;
use crate::program::how_it_ended;
use crate::sandbox::{self, ProgramSandbox};

/// Bytes of one message. The largest are results of tools; longer ones are skipped.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// Longest time between two checks that the agent is alive.
const TICK: Duration = Duration::from_millis(500);

/// Time for the agent to exit after its stdin is closed. Some never do.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// Time between TERM and KILL.
const TERM_WAIT: Duration = Duration::from_secs(2);

/// Time for its last stderr output to arrive after it has exited.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(200);

/// Bytes kept of the last line of its stderr.
const MAX_LAST_WORDS: usize = 500;

/// Something that happened while we listened.
#[derive(Debug)]
pub(super) enum AcpEvent {
    /// The agent said something.
    Message(AcpMessage),
    /// It sent a message over the size limit, of this many bytes.
    TooLong(u64),
    /// It has exited, or closed its stdout.
    Ended,
    /// This signal asks us to stop.
    Stopped(i32),
    /// Nothing happened in the time given.
    Silence,
}

/// The process of an agent that speaks the protocol.
pub(super) struct AcpClient {
    child: Child,
    stdout: ChildStdout,
    lines: MessageLines,
    inbox: VecDeque<AcpEvent>,
    outgoing: Option<Sender<String>>,
    signals: SignalListener,
    buffer: Vec<u8>,
    stderr: JoinHandle<()>,
    last_words: Arc<Mutex<String>>,
    ended: bool,
    sandbox: Option<ProgramSandbox>,
}

impl AcpClient {
    /// Starts the agent of an attempt in its workspace.
    ///
    /// # Errors
    /// `Config` when the program cannot be started, `Internal` when signals cannot be listened for.
    pub(super) fn start(settings: &AcpLaunch, opened: &AttemptOpening) -> Result<AcpClient> {
        keep_default_actions()?;
        let signals = SignalListener::listen()?;
        let sandbox = ProgramSandbox::of_attempt(opened, &settings.command)?;
        let mut child = command(sandbox.as_ref(), settings, opened)
            .args(&settings.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| cannot_start(&settings.command, &settings.args, &opened.workspace, &source))?;
        let (mut stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("stdout was piped"));
        let (outgoing, messages) = channel::<String>();
        std::thread::spawn(move || {
            for message in messages {
                let Some(stdin) = &mut stdin else { return };
                // The agent may have exited. Its exit and its last messages reach the reader on the other side.
                if stdin.write_all(message.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(String::new()));
        let stderr = pass_on(child.stderr.take(), Arc::clone(&last_words));
        Ok(AcpClient {
            child,
            stdout,
            lines: MessageLines::new(MAX_MESSAGE_BYTES),
            inbox: VecDeque::new(),
            outgoing: Some(outgoing),
            signals,
            buffer: vec![0; READ_BYTES],
            stderr,
            last_words,
            ended: false,
            sandbox,
        })
    }

    /// Its program, as it was started but without arguments.
    pub(super) fn command(&self, settings: &AcpLaunch, opened: &AttemptOpening) -> Command {
        command(self.sandbox.as_ref(), settings, opened)
    }

    /// Sends a message. If the agent no longer reads, the caller learns it while listening.
    pub(super) fn send(&self, message: &Value) {
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.send(format!("{message}\n"));
        }
    }

    /// From now on signals are events of [`AcpClient::next`], until [`AcpClient::release`].
    pub(super) fn hold(&self) {
        released().store(false, Ordering::SeqCst);
    }

    /// Restores the default action of signals.
    pub(super) fn release(&self) {
        released().store(true, Ordering::SeqCst);
    }

    /// Waits for the next event; without a limit, for as long as it takes.
    pub(super) fn next(&mut self, limit: Option<Duration>, heed_signals: bool) -> AcpEvent {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(event) = self.inbox.pop_front() {
                return event;
            }
            if let Some(signal) = self.signals.stop().filter(|_| heed_signals) {
                return AcpEvent::Stopped(signal);
            }
            if self.ended {
                return AcpEvent::Ended;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return AcpEvent::Silence;
            }
            let wait = left.map_or(TICK, |left| left.min(TICK));
            if self.signals.wait_or_readable(wait, &self.stdout) {
                self.read();
            } else if matches!(self.child.try_wait(), Ok(Some(_)))
                && !self.signals.wait_or_readable(Duration::ZERO, &self.stdout)
            {
                // The process is dead and its output was read. Don't wait for the end of the pipe: a process it started may keep it open
                // forever.
                self.end_of_stream();
            }
        }
    }

    fn read(&mut self) {
        match self.stdout.read(&mut self.buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => self.end_of_stream(),
            Ok(count) => {
                let lines = self.lines.push(&self.buffer[..count]);
                self.inbox.extend(lines.into_iter().filter_map(event));
            }
        }
    }

    fn end_of_stream(&mut self) {
        self.ended = true;
        let last = self.lines.finish();
        self.inbox.extend(last.and_then(event));
    }

    /// Describes the exit of an agent that ended before it replied, including its last line of stderr. An agent that closed its stdout but
    /// still runs is ended first.
    pub(super) fn how_it_ended(&mut self, before: &str) -> String {
        let own = self.wait(LAST_WORDS_WAIT);
        let how = match own {
            Some(status) => how_it_ended(status),
            None => {
                self.end();
                "closed its stdout".to_owned()
            }
        };
        let deadline = Instant::now() + LAST_WORDS_WAIT;
        while !self.stderr.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        match self.last_words() {
            words if words.is_empty() => format!("{how} before it answered `{before}`"),
            words => format!("{how} before it answered `{before}`; its last words: {words}"),
        }
    }

    /// The end of what it wrote to stderr.
    pub(super) fn last_words(&self) -> String {
        self.last_words.lock().trim().to_owned()
    }

    /// Ends the process: closes its stdin, then sends TERM, then KILL. The keeper ends the processes it started.
    pub(super) fn end(&mut self) {
        self.outgoing = None;
        if self.wait(EXIT_WAIT).is_some() {
            return;
        }
        for (signal, limit) in [(Signal::TERM, TERM_WAIT), (Signal::KILL, TERM_WAIT)] {
            if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
                // It may have exited just now.
                let _ = kill_process(pid, signal);
            }
            if self.wait(limit).is_some() {
                return;
            }
        }
    }

    /// Its exit status if it exits within the time. Discards further output, so that a full pipe cannot keep it from exiting.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        let mut open = !self.ended;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if !open {
                self.signals.wait(left.min(TICK));
            } else if self.signals.wait_or_readable(left.min(TICK), &self.stdout) {
                open = !matches!(self.stdout.read(&mut self.buffer), Ok(0));
            }
        }
    }
}

impl Drop for AcpClient {
    fn drop(&mut self) {
        self.end();
        self.release();
    }
}

/// Whether signals have their default action: true while no session listens for them. One flag for the process,
/// because its signal handlers are shared.
fn released() -> &'static Arc<AtomicBool> {
    static RELEASED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    RELEASED.get_or_init(|| Arc::new(AtomicBool::new(true)))
}

/// Installing a handler removes the default action of a signal for good. This restores it while no session listens.
fn keep_default_actions() -> Result<()> {
    static KEPT: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let keep = || {
        [SIGINT, SIGTERM, SIGHUP].into_iter().try_for_each(|signal| {
            let kept = signal_hook::flag::register_conditional_default(signal, Arc::clone(released()));
            kept.map(drop).map_err(|error| error.to_string())
        })
    };
    KEPT.get_or_init(keep).clone().map_err(|error| Error::io(format!("cannot listen for signals: {error}")))
}

fn event(line: MessageLine) -> Option<AcpEvent> {
    match line {
        MessageLine::Whole(bytes) => messages::read(&bytes).map(AcpEvent::Message),
        MessageLine::TooLong(bytes) => Some(AcpEvent::TooLong(bytes)),
    }
}

/// The program of an attempt in its sandbox, workspace and environment.
fn command(sandbox: Option<&ProgramSandbox>, settings: &AcpLaunch, opened: &AttemptOpening) -> Command {
    let mut command = sandbox::command(sandbox, &settings.command);
    without_secrets(&mut command, opened);
    sandbox.iter().for_each(|sandbox| sandbox.set_variables(&mut command));
    let is_set = |name: &str| std::env::var_os(name).is_some() || opened.agent.set.contains_key(name);
    let missing = settings.env.iter().filter(|(name, _)| !is_set(name));
    let env = missing.chain(&settings.own_env).map(|(name, value)| (name, value));
    command.envs(env).current_dir(&opened.workspace);
    command
}

/// Passes a process's stderr on to ours and remembers its last line.
fn pass_on(stderr: Option<std::process::ChildStderr>, last_words: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let Some(mut stderr) = stderr else { return };
        let mut buffer = vec![0; READ_BYTES];
        let mut lines = MessageLines::new(MAX_LAST_WORDS);
        loop {
            let count = match stderr.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let _ = std::io::stderr().write_all(&buffer[..count]);
            lines.push(&buffer[..count]).into_iter().for_each(|line| remember(&last_words, line));
        }
        lines.finish().into_iter().for_each(|line| remember(&last_words, line));
    })
}

fn remember(last_words: &Mutex<String>, line: MessageLine) {
    let MessageLine::Whole(bytes) = line else { return };
    let text = String::from_utf8_lossy(&bytes);
    if !text.trim().is_empty() {
        *last_words.lock() = text.into_owned();
    }
}
