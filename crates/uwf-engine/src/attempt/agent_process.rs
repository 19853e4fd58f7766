//! Runs an agent: caps its output files, limits its time, and leaves none of its processes behind.

use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use durable_files::regular::{self, RegularFileError};
use signal_hook::consts::SIGCHLD;
use uwf_platform::host;

use crate::attempt::broker::BrokerProcess;
pub use crate::attempt::ended::AgentProcessEnd;
use crate::attempt::lease::StepLease;
use crate::attempt::limit_log;
use crate::attempt::processes::{self, AttemptTrail};
use crate::attempt::program;
use crate::attempt::stop_signals::{self, STOP_SIGNALS};
use crate::error::{AtPath, Error, ErrorKind, Result};
use crate::root::ids;
use crate::root::store_keys::KeyHandover;

/// Interval between checks of the output files. A flooding agent writes about ten MB in that time.
const LOOK: Duration = Duration::from_millis(20);

/// Time between two looks at the clock. It may jump, for example while a laptop sleeps.
const CLOCK_LOOK: Duration = Duration::from_secs(1);

/// A command to run, and its limits.
pub(crate) struct AgentProcessSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Directory it runs in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// File for its stdout; `None` if stdout is not read.
    pub stdout: Option<PathBuf>,
    /// File for its stderr.
    pub stderr: PathBuf,
    /// Files whose growth counts as a sign of life, and whose size is capped; includes stdout and stderr.
    pub watched: Vec<PathBuf>,
    /// Keys of the shared store, for a process of uwf that runs nothing that an agent chose. Other processes use a
    /// broker.
    pub(crate) keys: Option<KeyHandover>,
    /// Value of its `UWF_ATTEMPT`.
    pub attempt: String,
    /// Limit on the whole run.
    pub timeout: Option<Duration>,
    /// Limit on the time without output.
    pub idle_timeout: Option<Duration>,
    /// Whether its stderr has the usage limits that it waits for.
    pub(crate) logs_limits: bool,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Until this is lost, no other machine continues with the step.
    pub(crate) lease: StepLease,
    /// Whether keepers that it started continue if it dies: they perform steps of other threads, which are paid for.
    pub(crate) leaves_keepers: bool,
    /// Bytes kept of each watched file.
    pub cap: u64,
}

/// The signals that make a keeper or window end its agent, and the wake-up on a child's death.
pub struct SignalListener {
    received: Arc<AtomicUsize>,
    wake: UnixStream,
}

impl SignalListener {
    /// Starts to listen for the signals.
    ///
    /// # Errors
    /// `Io` when the handlers cannot be installed.
    pub fn listen() -> Result<SignalListener> {
        let install = || -> io::Result<SignalListener> {
            let (wake, write) = UnixStream::pair()?;
            wake.set_nonblocking(true)?;
            stop_signals::listen()?;
            let received = Arc::new(AtomicUsize::new(0));
            for signal in STOP_SIGNALS {
                let number = usize::try_from(signal).unwrap_or_default();
                signal_hook::flag::register_usize(signal, Arc::clone(&received), number)?;
            }
            for signal in STOP_SIGNALS.into_iter().chain([SIGCHLD]) {
                signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
            }
            Ok(SignalListener { received, wake })
        };
        install().map_err(|error| Error::io(format!("cannot listen for signals: {error}")))
    }

    /// The signal that asked this process to stop, if one arrived.
    pub fn stop(&self) -> Option<i32> {
        match self.received.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Sleeps until a signal arrives or the time is up.
    pub fn wait(&mut self, limit: Duration) {
        self.poll(limit, None);
    }

    /// Sleeps until a time in Unix milliseconds. Returns the signal that asked this process to stop before.
    pub fn wait_until(&mut self, at: u64) -> Option<i32> {
        loop {
            let left = Duration::from_millis(at.saturating_sub(ids::now_ms()));
            if left.is_zero() {
                return None;
            }
            if let Some(signal) = self.stop() {
                return Some(signal);
            }
            self.wait(left.min(CLOCK_LOOK));
        }
    }

    /// Sleeps until a signal arrives, the time is up, or `source` is readable or closed. Returns whether it is.
    pub fn wait_or_readable(&mut self, limit: Duration, source: impl AsFd) -> bool {
        self.poll(limit, Some(source.as_fd()))
    }

    fn poll(&mut self, limit: Duration, source: Option<BorrowedFd<'_>>) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        let mut polled = vec![PollFd::new(&self.wake, PollFlags::IN)];
        polled.extend(source.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)));
        // A signal interrupts the poll, which ends the wait.
        let _ = poll(&mut polled, Some(&timeout));
        let readable = polled.get(1).is_some_and(|source| !source.revents().is_empty());
        drop(polled);
        let mut drained = [0u8; 64];
        while matches!(self.wake.read(&mut drained), Ok(count) if count > 0) {}
        readable
    }
}

/// Runs a job to its end. No process that it started is left when this returns, except for keepers that it leaves. `started` is called with the process
/// id; if it fails, the job is ended. The `broker` of the attempt, if it has one, ends with the agent.
///
/// # Errors
/// `Config` when the program cannot be started, `Io` for its files and when the machine cannot start any.
pub(crate) fn run(
    job: &AgentProcessSpec,
    broker: Option<BrokerProcess>,
    signals: &mut SignalListener,
    started: impl FnOnce(u32) -> Result<()>,
) -> Result<AgentProcessEnd> {
    let mut child = spawn(job)?;
    let group = child.id();
    let spared = broker.as_ref().map(BrokerProcess::pid);
    let trail = AttemptTrail::of_child(&job.attempt, group);
    if let Err(error) = started(group) {
        processes::end_attempt(&trail, Duration::ZERO, spared);
        let _ = child.wait();
        return Err(error);
    }
    let ended = watch(job, &mut child, signals);
    match ended {
        AgentProcessEnd::Exited(_) | AgentProcessEnd::Signaled(_) => {
            // Otherwise the broker would count as a child that is left.
            drop(broker);
            if processes::any_left(&trail) {
                match job.leaves_keepers {
                    true => processes::end_abandoned(&trail, job.grace),
                    false => processes::end_attempt(&trail, job.grace, None),
                }
            }
        }
        AgentProcessEnd::TimedOut(_)
        | AgentProcessEnd::Idle(_)
        | AgentProcessEnd::AtLimit
        | AgentProcessEnd::Cancelled(_) => {
            processes::end_attempt(&trail, job.grace, spared);
            let _ = child.wait();
        }
        AgentProcessEnd::Lost(_) => {
            processes::end_attempt(&trail, job.lease.grace(job.grace), spared);
            let _ = child.wait();
        }
    }
    cap_files(job);
    Ok(ended)
}

fn check_workspace(dir: &Path) -> Result<()> {
    match std::fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::file("look at", dir, error))
        }
        _ => Err(no_workspace(dir)),
    }
}

/// The error for a workspace that does not exist.
pub(crate) fn no_workspace(dir: &Path) -> Error {
    Error::not_found(format!("the workspace {} is not an existing directory", dir.display()))
        .hint("give another directory: `--cwd DIR`")
}

fn spawn(job: &AgentProcessSpec) -> Result<Child> {
    let stdout = job.stdout.as_deref().map_or_else(|| Ok(Stdio::null()), |path| create(path).map(Stdio::from))?;
    let stderr = create(&job.stderr)?;
    processes::hold_output(&stderr);
    let (program, args) = job.argv.split_first().expect("a command line has a program");
    check_workspace(&job.cwd)?;
    let mut command = Command::new(program);
    command.args(args).current_dir(&job.cwd).env_clear().envs(&job.env).stdin(Stdio::null());
    let not_started = |source: io::Error| cannot_start(program, args, &job.cwd, &source);
    let keys = job.keys.as_ref().map(|keys| keys.through_stdin(&mut command)).transpose().map_err(not_started)?;
    let started = command.stdout(stdout).stderr(stderr).process_group(0).spawn();
    let mut child = started.map_err(not_started)?;
    if let Some(keys) = keys {
        // A process that is already gone has ended, which `watch` notices.
        let _ = keys.send(&mut child);
    }
    Ok(child)
}

/// Why a program could not be started in a directory, as far as its file shows.
pub fn cannot_start(program: &str, args: &[String], dir: &Path, source: &io::Error) -> Error {
    if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        && let Err(why) = program::look_up(program, dir)
    {
        return why.refusal(program);
    }
    let longest_argument = args.iter().map(String::len).max().unwrap_or(0);
    Error::new(start_kind(source), format!("cannot start agent `{program}`: {source}"))
        .hints(start_hint(longest_argument, source))
}

/// A shortage on the machine is not an error in the configuration.
fn start_kind(source: &io::Error) -> ErrorKind {
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::IO, Errno::NOSPC, Errno::INTR];
    let is_passing = Errno::from_io_error(source).is_some_and(|errno| lacks.contains(&errno));
    if is_passing { ErrorKind::Io } else { ErrorKind::Config }
}

fn start_hint(longest_argument: usize, source: &io::Error) -> Option<String> {
    let hint = match source.kind() {
        io::ErrorKind::NotFound => "a program or library that the file needs is missing",
        io::ErrorKind::ArgumentListTooLong => {
            return Some(format!(
                "an argument has {longest_argument} bytes, at most 131,071 are allowed: leave `{{prompt}}` out of \
                 args, then the prompt comes on stdin"
            ));
        }
        io::ErrorKind::PermissionDenied => {
            "check that you may execute the file and enter its directories, and that its file system is not mounted \
             `noexec`"
        }
        _ if Errno::from_io_error(source) == Some(Errno::NOEXEC) => {
            "a script must begin with a line that names its interpreter, such as #!/bin/sh"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Opens an output file so that every write is appended, even after its middle was cut out.
///
/// # Errors
/// When the file cannot be created: the disk is full, or another user's file has its name.
pub fn create(path: &Path) -> Result<File> {
    regular::open_with(OpenOptions::new().create(true).append(true), path).path_context("create", path)
}

fn watch(job: &AgentProcessSpec, child: &mut Child, signals: &mut SignalListener) -> AgentProcessEnd {
    let begun = Instant::now();
    let mut alive = begun;
    let mut has_looked = false;
    let mut sizes = sizes(job);
    loop {
        let status = child.try_wait().ok().flatten();
        // A signal to the keeper often reaches the agent as well, and the agent may end first. Don't count that as its
        // failure.
        if let Some(signal) = signals.stop().filter(|_| !status.is_some_and(|status| status.success())) {
            return AgentProcessEnd::Cancelled(signal);
        }
        if let Some(status) = status {
            return ended(status);
        }
        if let Some(why) = job.lease.lost() {
            return AgentProcessEnd::Lost(why);
        }
        let silent = alive.elapsed();
        let timed_out = job.timeout.filter(|limit| begun.elapsed() >= *limit);
        let idle = job.idle_timeout.filter(|limit| silent >= *limit);
        if !has_looked && (timed_out.is_some() || idle.is_some() || silent >= limit_log::PATIENCE) {
            has_looked = true;
            let read = |log: &Path| read_capped(log, job.cap).ok();
            if job.logs_limits && limit_log::awaits_end(&job.stderr, &job.watched, read) {
                return AgentProcessEnd::AtLimit;
            }
        }
        if let Some(limit) = timed_out {
            return AgentProcessEnd::TimedOut(limit);
        }
        if let Some(limit) = idle {
            return AgentProcessEnd::Idle(limit);
        }
        signals.wait(LOOK);
        let now = self::sizes(job);
        if now != sizes {
            sizes = now;
            alive = Instant::now();
            has_looked = false;
            cap_files(job);
        }
    }
}

fn ended(status: ExitStatus) -> AgentProcessEnd {
    match status.code() {
        Some(code) => AgentProcessEnd::Exited(code),
        None => AgentProcessEnd::Signaled(status.signal().unwrap_or(0)),
    }
}

fn sizes(job: &AgentProcessSpec) -> Vec<u64> {
    job.watched.iter().map(|path| path.metadata().map_or(0, |meta| meta.len())).collect()
}

/// Frees the middle of every file that exceeds the cap: the first and last half of the cap stay.
fn cap_files(job: &AgentProcessSpec) {
    for path in &job.watched {
        let Ok(size) = path.metadata().map(|meta| meta.len()) else { continue };
        if size > job.cap {
            free_middle(path, size, job.cap);
        }
    }
}

fn free_middle(path: &Path, size: u64, cap: u64) {
    let Ok(file) = regular::open_with(OpenOptions::new().write(true), path) else { return };
    // A file system without holes keeps the bytes; readers still skip the middle.
    host().punch_hole(&file, cap / 2, size - cap);
}

/// Whether the path exists but is not a regular file.
fn is_misplaced(error: &io::Error) -> bool {
    matches!(RegularFileError::from_io_error(error), Some(RegularFileError::NotRegular(_)))
        || error.kind() == io::ErrorKind::IsADirectory
}

/// Like [`read_capped`], for the record of a failed attempt. If something other than a file is there, the text says so:
/// an agent must not prevent its attempt from being kept.
///
/// # Errors
/// `Io`; an absent file is empty.
pub fn read_kept(path: &Path, cap: u64) -> Result<String> {
    match read_capped(path, cap) {
        Err(misplaced) if misplaced.kind == ErrorKind::AgentFailed => Ok(format!("[{misplaced}]\n")),
        other => other,
    }
}

/// The last line of an output file, for display; `None` if it has none yet. Reads only the end of the file.
pub fn last_line(path: &Path) -> Option<String> {
    let text = read_capped(path, LOOKED_AT).ok()?;
    let line = text.trim_end().lines().last()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Bytes read of an output file to find its last line.
const LOOKED_AT: u64 = 4096;

/// The kept text of an output file: the whole file, or its beginning and end with a line that says what was cut. Bytes
/// that are not UTF-8 are shown as `�`.
///
/// # Errors
/// `AgentFailed` when the path is not a file, `Io`; an absent file is empty.
pub fn read_capped(path: &Path, cap: u64) -> Result<String> {
    use std::io::{Seek, SeekFrom};
    let mut file = match regular::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(source) if is_misplaced(&source) => {
            return Err(Error::agent_failed(format!(
                "the agent replaced its output file {}: {source}",
                path.display()
            )));
        }
        other => other.path_context("open", path)?,
    };
    let size = file.metadata().path_context("read", path)?.len();
    if size <= cap {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).path_context("read", path)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let half = cap / 2;
    let mut head = Vec::new();
    file.by_ref().take(half).read_to_end(&mut head).path_context("read", path)?;
    file.seek(SeekFrom::Start(size - half)).path_context("read", path)?;
    let mut tail = Vec::new();
    file.take(half).read_to_end(&mut tail).path_context("read", path)?;
    let cut = size - 2 * half;
    Ok(format!("{}\n[… {cut} bytes cut …]\n{}", String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail)))
}
