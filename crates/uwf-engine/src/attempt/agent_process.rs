//! Running an agent: its output goes to capped files, its time is limited, and nothing of it is left behind.

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

use durable_files::regular::{self, Refused};
use signal_hook::consts::SIGCHLD;

use crate::attempt::broker::Broker;
pub use crate::attempt::ended::Ended;
use crate::attempt::lease::Lease;
use crate::attempt::stop_signals::{self, STOP_SIGNALS};
use crate::attempt::{processes, program};
use crate::error::{AtPath, Error, ErrorKind, Result};
use crate::root::store_keys::Handover;

/// How often output files are looked at. A flooding agent writes some ten MB in that time.
const LOOK: Duration = Duration::from_millis(20);

/// What to run and within which limits.
pub(crate) struct Job {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Directory it runs in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// File its stdout goes to; nowhere when nobody will read it.
    pub stdout: Option<PathBuf>,
    /// File its stderr goes to.
    pub stderr: PathBuf,
    /// Files whose growth counts as a sign of life and which are kept below the cap; stdout and stderr among them.
    pub watched: Vec<PathBuf>,
    /// Keys of the shared store, for a process of uwf that runs nothing that an agent chose. Every other one has a broker instead.
    pub(crate) keys: Option<Handover>,
    /// Value of its `UWF_ATTEMPT`.
    pub attempt: String,
    /// Limit on the whole run.
    pub timeout: Option<Duration>,
    /// Limit on a time without output.
    pub idle_timeout: Option<Duration>,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// As long as it is not lost, no other machine continues with the step.
    pub(crate) lease: Lease,
    /// Bytes kept of each watched file.
    pub cap: u64,
}

/// The signals that tell a keeper or window to end its agent, and the wake-up for a child's death.
pub struct Signals {
    told: Arc<AtomicUsize>,
    wake: UnixStream,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// `Io` when the handlers cannot be installed.
    pub fn listen() -> Result<Signals> {
        let install = || -> io::Result<Signals> {
            let (wake, write) = UnixStream::pair()?;
            wake.set_nonblocking(true)?;
            stop_signals::listen()?;
            let told = Arc::new(AtomicUsize::new(0));
            for signal in STOP_SIGNALS {
                let number = usize::try_from(signal).unwrap_or_default();
                signal_hook::flag::register_usize(signal, Arc::clone(&told), number)?;
            }
            for signal in STOP_SIGNALS.into_iter().chain([SIGCHLD]) {
                signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
            }
            Ok(Signals { told, wake })
        };
        install().map_err(|error| Error::io(format!("cannot listen for signals: {error}")))
    }

    /// The signal that told us to stop, if one did.
    pub fn stop(&self) -> Option<i32> {
        match self.told.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Sleeps until a signal arrives or the time is over.
    pub fn wait(&mut self, limit: Duration) {
        self.poll(limit, None);
    }

    /// Sleeps until a signal arrives, the time is over, or there is something to read (or nothing ever will be): whether
    /// that was it.
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
        // An interrupted poll is a signal, which is what we wait for.
        let _ = poll(&mut polled, Some(&timeout));
        let readable = polled.get(1).is_some_and(|source| !source.revents().is_empty());
        drop(polled);
        let mut drained = [0u8; 64];
        while matches!(self.wake.read(&mut drained), Ok(count) if count > 0) {}
        readable
    }
}

/// Runs a job to its end. Everything it started is gone when this returns. `started` is called with the process id; if it
/// fails, the job is ended. The `broker` of the attempt, if it has one, ends with the agent.
///
/// # Errors
/// `Config` when the program cannot be started, `Io` for its files and when the machine cannot start any.
pub(crate) fn run(
    job: &Job,
    broker: Option<Broker>,
    signals: &mut Signals,
    started: impl FnOnce(u32) -> Result<()>,
) -> Result<Ended> {
    let mut child = spawn(job)?;
    let group = child.id();
    let spared = broker.as_ref().map(Broker::pid);
    if let Err(error) = started(group) {
        processes::end_attempt(Some(group), &job.attempt, Duration::ZERO, spared);
        let _ = child.wait();
        return Err(error);
    }
    let ended = watch(job, &mut child, signals);
    match ended {
        Ended::Exited(_) | Ended::Signaled(_) => {
            // It is a child that would be left.
            drop(broker);
            if processes::children_left()
                || rustix::process::Pid::from_raw(group.cast_signed())
                    .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
            {
                processes::end_attempt(Some(group), &job.attempt, job.grace, None);
            }
        }
        Ended::TimedOut(_) | Ended::Idle(_) | Ended::Cancelled(_) => {
            processes::end_attempt(Some(group), &job.attempt, job.grace, spared);
            let _ = child.wait();
        }
        Ended::Lost(_) => {
            processes::end_attempt(Some(group), &job.attempt, job.lease.grace(job.grace), spared);
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

/// The refusal of a workspace that is not there.
pub(crate) fn no_workspace(dir: &Path) -> Error {
    Error::not_found(format!("the workspace {} is not an existing directory", dir.display()))
        .hint("give another one: `--cwd DIR`")
}

fn spawn(job: &Job) -> Result<Child> {
    let stdout = job.stdout.as_deref().map_or_else(|| Ok(Stdio::null()), |path| create(path).map(Stdio::from))?;
    let stderr = create(&job.stderr)?;
    let (program, args) = job.argv.split_first().expect("a command line has a program");
    check_workspace(&job.cwd)?;
    let mut command = Command::new(program);
    command.args(args).current_dir(&job.cwd).env_clear().envs(&job.env).stdin(Stdio::null());
    if let Some(keys) = &job.keys {
        keys.through_stdin(&mut command);
    }
    let started = command.stdout(stdout).stderr(stderr).process_group(0).spawn();
    let mut child = started.map_err(|source| cannot_start(program, args, &job.cwd, &source))?;
    if let Some(keys) = &job.keys {
        // One that is gone already has ended, which is noticed.
        let _ = keys.send(&mut child);
    }
    Ok(child)
}

/// Why a program could not be started in a directory, as far as its file tells.
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

/// What the machine lacks at the moment is no fault of the configuration.
fn start_kind(source: &io::Error) -> ErrorKind {
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::IO, Errno::NOSPC, Errno::INTR];
    let is_passing = Errno::from_io_error(source).is_some_and(|errno| lacks.contains(&errno));
    if is_passing { ErrorKind::Io } else { ErrorKind::Config }
}

fn start_hint(longest_argument: usize, source: &io::Error) -> Option<String> {
    let hint = match source.kind() {
        io::ErrorKind::NotFound => "a program or library that the file itself asks for is missing",
        io::ErrorKind::ArgumentListTooLong => {
            return Some(format!(
                "an argument has {longest_argument} bytes, the system takes 131,071: leave `{{prompt}}` out of args, then the prompt comes on stdin"
            ));
        }
        io::ErrorKind::PermissionDenied => {
            "may you execute the file and enter its directories? is its file system mounted `noexec`?"
        }
        _ if Errno::from_io_error(source) == Some(Errno::NOEXEC) => {
            "a script begins with a line that names its interpreter, such as #!/bin/sh"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Opens an output file so that every write goes to its end, also after the middle was cut out.
///
/// # Errors
/// When the file cannot be made: the disk is full, or somebody else's file has its name.
pub fn create(path: &Path) -> Result<File> {
    regular::open_with(OpenOptions::new().create(true).append(true), path).at("create", path)
}

fn watch(job: &Job, child: &mut Child, signals: &mut Signals) -> Ended {
    let begun = Instant::now();
    let mut alive = begun;
    let mut sizes = sizes(job);
    loop {
        let status = child.try_wait().ok().flatten();
        // Whoever stops the keeper often stops the agent too, and it may be gone first. That is not a failure of the agent.
        if let Some(signal) = signals.stop().filter(|_| !status.is_some_and(|status| status.success())) {
            return Ended::Cancelled(signal);
        }
        if let Some(status) = status {
            return ended(status);
        }
        if let Some(why) = job.lease.lost() {
            return Ended::Lost(why);
        }
        if let Some(limit) = job.timeout.filter(|limit| begun.elapsed() >= *limit) {
            return Ended::TimedOut(limit);
        }
        if let Some(limit) = job.idle_timeout.filter(|limit| alive.elapsed() >= *limit) {
            return Ended::Idle(limit);
        }
        signals.wait(LOOK);
        let now = self::sizes(job);
        if now != sizes {
            sizes = now;
            alive = Instant::now();
            cap_files(job);
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
    match status.code() {
        Some(code) => Ended::Exited(code),
        None => Ended::Signaled(status.signal().unwrap_or(0)),
    }
}

fn sizes(job: &Job) -> Vec<u64> {
    job.watched.iter().map(|path| path.metadata().map_or(0, |meta| meta.len())).collect()
}

/// Frees the middle of every file that is over the cap: the first half of the cap and the last stay.
fn cap_files(job: &Job) {
    for path in &job.watched {
        let Ok(size) = path.metadata().map(|meta| meta.len()) else { continue };
        if size > job.cap {
            free_middle(path, size, job.cap);
        }
    }
}

#[cfg(target_os = "linux")]
fn free_middle(path: &Path, size: u64, cap: u64) {
    use rustix::fs::FallocateFlags;
    let Ok(file) = regular::open_with(OpenOptions::new().write(true), path) else { return };
    let (from, length) = (cap / 2, size - cap);
    // A file system without holes keeps the bytes; reading still leaves the middle out.
    let _ = rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, length);
}

#[cfg(not(target_os = "linux"))]
fn free_middle(_path: &Path, _size: u64, _cap: u64) {}

/// Whether there is something, and it is no file.
fn is_misplaced(error: &io::Error) -> bool {
    matches!(Refused::of(error), Some(Refused::NotRegular(_))) || error.kind() == io::ErrorKind::IsADirectory
}

/// The same to be kept with an attempt that failed: of what is no file it says so, since nothing an agent does to its own
/// files may keep its attempt from being kept.
///
/// # Errors
/// `Io`; an absent file is empty.
pub fn read_kept(path: &Path, cap: u64) -> Result<String> {
    match read_capped(path, cap) {
        Err(misplaced) if misplaced.kind == ErrorKind::AgentFailed => Ok(format!("[{misplaced}]\n")),
        other => other,
    }
}

/// The last line of an output file, for somebody who watches; `None` if there is none yet. Only its end is read.
pub fn last_line(path: &Path) -> Option<String> {
    let text = read_capped(path, LOOKED_AT).ok()?;
    let line = text.trim_end().lines().last()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Bytes of an output file that are looked at for its last line.
const LOOKED_AT: u64 = 4096;

/// What is kept of an output file: all of it, or its beginning and end with a line that says what was cut. Bytes that
/// are no UTF-8 are shown as `�`.
///
/// # Errors
/// `AgentFailed` when something else is in its place, `Io`; an absent file is empty.
pub fn read_capped(path: &Path, cap: u64) -> Result<String> {
    use std::io::{Seek, SeekFrom};
    let mut file = match regular::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(source) if is_misplaced(&source) => {
            return Err(Error::agent_failed(format!(
                "the agent put something else in the place of its output file {}: {source}",
                path.display()
            )));
        }
        other => other.at("open", path)?,
    };
    let size = file.metadata().at("read", path)?.len();
    if size <= cap {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).at("read", path)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let half = cap / 2;
    let mut head = Vec::new();
    file.by_ref().take(half).read_to_end(&mut head).at("read", path)?;
    file.seek(SeekFrom::Start(size - half)).at("read", path)?;
    let mut tail = Vec::new();
    file.take(half).read_to_end(&mut tail).at("read", path)?;
    let cut = size - 2 * half;
    Ok(format!("{}\n[… {cut} bytes cut …]\n{}", String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail)))
}
