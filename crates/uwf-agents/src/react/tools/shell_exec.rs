//! `shell_exec`

use std::io::{PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uwf_engine::attempt::program;

use super::{Answer, ReactTool, ReactToolContext, typed};
use crate::capped_output::CappedOutput;

/// Default time limit of a command, longer than most builds of a small project.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// Largest time limit a model can ask for.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_mins(30);

/// Bytes of output reported: some 8,000 tokens, beginning and end.
const OUTPUT_CAP: usize = 32 << 10;

/// Bytes of an unfinished line after which it is passed on.
const MAX_LINE: usize = 64 << 10;

/// Time between TERM and KILL for a command over its time limit.
const GRACE: Duration = Duration::from_secs(2);

/// Time for a killed group to disappear. The kernel needs it only under extreme load.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Time between checks for the exit of a silent command.
const LOOK: Duration = Duration::from_millis(20);

/// The same after the command has closed its output, when it is about to exit.
const LOOK_AT_END: Duration = Duration::from_millis(2);

/// Reads after a command's exit: a process it left behind may print forever.
const MAX_LAST_READS: usize = 64;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShellExecArguments {
    command: String,
    timeout: Option<f64>,
}

/// Runs a command in the workspace.
pub(super) const SHELL_EXEC: ReactTool = ReactTool {
    name: "shell_exec",
    description: "Runs a shell command in the workspace. Returns its exit code, then stdout and stderr in the order \
                  printed; long output is cut in the middle. Each call starts a new shell without input.",
    parameters,
    run,
};

fn parameters() -> Value {
    super::arguments(
        &json!({
            "command": { "type": "string", "description": "for bash, or sh if bash is missing" },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "seconds after which it is ended with all it started; 120 when left out, at most 1800",
            },
        }),
        &["command"],
    )
}

fn run(scene: &ReactToolContext<'_>, arguments: &Map<String, Value>) -> Answer {
    let ShellExecArguments { command, timeout } = typed(arguments)?;
    let timeout = match timeout {
        None => DEFAULT_TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|timeout| !timeout.is_zero() && *timeout <= MAX_TIMEOUT)
            .ok_or_else(|| format!("invalid arguments: `timeout` is {seconds}; it can be up to 1800 seconds"))?,
    };
    let (mut child, output) = start(scene, &command).map_err(|error| format!("cannot start a shell: {error}"))?;
    let mut run = ShellCommandRun {
        group: group(&child),
        output,
        eof: false,
        line: Vec::new(),
        kept: CappedOutput::new(OUTPUT_CAP),
        clean: scene.clean,
        heard: scene.heard,
    };
    let ended = run.watch(&mut child, timeout).map_err(|error| format!("the command got lost: {error}"))?;
    run.pass_on(run.line.len());
    Ok(format!("{}\n{}", run.how(ended, timeout), run.kept.text()))
}

/// Starts a shell that leads its own process group. All output comes through one pipe, which keeps its order.
fn start(scene: &ReactToolContext<'_>, line: &str) -> std::io::Result<(Child, PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = Command::new(if program::find("bash").is_some() { "bash" } else { "sh" });
    (scene.prepare)(&mut command);
    let child = command
        .args(["-c", line])
        .current_dir(scene.workspace.path())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    // `command` holds the other end of the pipe and is dropped with this function.
    Ok((child, reader))
}

fn group(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().cast_signed())
}

/// A running command.
struct ShellCommandRun<'a> {
    group: Option<Pid>,
    output: PipeReader,
    eof: bool,
    /// The part read of the current line.
    line: Vec<u8>,
    kept: CappedOutput,
    clean: &'a dyn Fn(&str) -> String,
    heard: &'a dyn Fn(&[u8]),
}

impl ShellCommandRun<'_> {
    /// Waits for the command to exit; `None` if it was killed.
    fn watch(&mut self, child: &mut Child, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait()? {
                self.hear_the_rest()?;
                return Ok(Some(status));
            }
            self.hear(LOOK)?;
        }
        self.end(child)?;
        self.hear_the_rest()?;
        Ok(None)
    }

    fn hear_the_rest(&mut self) -> std::io::Result<()> {
        for _ in 0..MAX_LAST_READS {
            if !self.hear(Duration::ZERO)? {
                break;
            }
        }
        Ok(())
    }

    /// Waits for output and reads it; false if there was none.
    fn hear(&mut self, limit: Duration) -> std::io::Result<bool> {
        if self.eof {
            std::thread::sleep(limit.min(LOOK_AT_END));
            return Ok(false);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
        let mut polled = [PollFd::new(&self.output, PollFlags::IN)];
        // An interrupted poll returns no output.
        if !matches!(poll(&mut polled, Some(&timeout)), Ok(ready) if ready > 0) {
            return Ok(false);
        }
        let mut chunk = vec![0; CHUNK];
        let read = self.output.read(&mut chunk)?;
        self.eof = read == 0;
        self.line.extend_from_slice(&chunk[..read]);
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.pass_on(if self.line.len() > MAX_LINE { self.line.len() } else { whole });
        Ok(read > 0)
    }

    /// Passes on the beginning of the output in whole lines. A secret would not be recognised if it came in two pieces, or if it is cut
    /// where the middle is left out.
    fn pass_on(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let message: Vec<u8> = self.line.drain(..bytes).collect();
        let message = (self.clean)(&String::from_utf8_lossy(&message));
        self.kept.push(message.as_bytes());
        (self.heard)(message.as_bytes());
    }

    /// Ends the whole group: TERM, a grace period, KILL.
    fn end(&mut self, child: &mut Child) -> std::io::Result<()> {
        let Some(group) = self.group else { return child.kill() };
        // It may exit by itself just now.
        let _ = kill_process_group(group, Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            self.hear(LOOK)?;
            if child.try_wait()?.is_some() && !is_alive(group) {
                return Ok(());
            }
        }
        let _ = kill_process_group(group, Signal::KILL);
        child.wait()?;
        let deadline = Instant::now() + KILL_WAIT;
        while is_alive(group) && Instant::now() < deadline {
            std::thread::sleep(LOOK_AT_END);
        }
        Ok(())
    }

    fn how(&self, ended: Option<ExitStatus>, timeout: Duration) -> String {
        let Some(status) = ended else {
            return format!("ended after {} s, with everything it had started", timeout.as_secs_f64());
        };
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, signal) => format!("ended by signal {}", signal.unwrap_or(0)),
        };
        if self.group.is_some_and(is_alive) {
            return format!("{how} (a process that it started is still running; its further output is not reported)");
        }
        how
    }
}

/// Whether a group whose leader was reaped has other members. Dead members that were reparented to this process, as their subreaper, are
/// reaped here.
fn is_alive(group: Pid) -> bool {
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group).is_ok()
}
