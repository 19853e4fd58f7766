//! Window and keeper. `thread step` is a window: it starts a keeper, which performs the whole step in a session of its
//! own, and reports what the keeper reports. Killing the window loses nothing.
//!
//! The keeper is a fork of the window: starting uwf once more would cost a tenth of a short step. A window that an agent
//! started does start it once more, because of what a process inherits for good, see `started_by_agent`.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::Command;
use std::time::Duration;

use durable_files::regular;
use fork::{Fork, fork};
use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use crate::child::Signals;
use crate::error::{AtPath, Error, Kind, Result, Told};
use crate::home::Home;
use crate::step::{self, Report, Request};
use crate::{ids, processes, rebuild};

/// Hidden argument that makes `uwf` a keeper; a JSON request follows it.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// Variable every process of an attempt inherits.
const ATTEMPT_VARIABLE: &str = "UWF_ATTEMPT";

/// How often a window looks around while its keeper works.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Done(Box<Report>),
    Failed(Told),
}

/// A keeper as its window sees it.
struct Keeper {
    pid: Option<Pid>,
    reply: PipeReader,
}

/// What a keeper has instead of the window's streams.
struct Streams {
    stdin: File,
    reply: PipeWriter,
    // Not the window's stderr: a reader of that would wait for the keeper after the window is gone.
    log: File,
}

/// The window: starts a keeper for one step and waits for it. `tick` is called about ten times a second. To be called
/// by a process without other threads: the keeper is a fork of it.
///
/// # Errors
/// What the keeper reports; `Internal` when it dies without a report.
pub fn step(home: &Home, request: &Request, signals: &mut Signals, tick: &mut dyn FnMut()) -> Result<Report> {
    let (report, ending) = replied(home, request, signals, tick)?;
    drop(ending);
    report
}

/// A keeper that has replied, so that nothing is left of its step but the end of its process. Dropped, it is waited for.
#[must_use = "dropped at once, it is waited for at once"]
pub struct Ending(Option<Pid>);

impl Drop for Ending {
    fn drop(&mut self) {
        // It is a child of this process that nobody else waits for.
        let _ = rustix::process::waitpid(self.0, WaitOptions::empty());
    }
}

/// The same as soon as the keeper has replied: a report can be printed while its process ends.
///
/// # Errors
/// As [`step()`], when no keeper was started.
pub fn replied(
    home: &Home,
    request: &Request,
    signals: &mut Signals,
    tick: &mut dyn FnMut(),
) -> Result<(Result<Report>, Ending)> {
    if signals.stop().is_some() {
        return Err(stopped(signals));
    }
    let mut keeper = start(home, request, signals)?;
    wait(&keeper, signals, tick);
    let mut reply = Vec::new();
    // A keeper that died has said nothing, or not all; both read as no reply.
    let read = keeper.reply.read_to_end(&mut reply).map(|_| reply);
    Ok((report(home, request, signals, read), Ending(keeper.pid)))
}

/// What a keeper's reply says, if it could be read.
fn report(home: &Home, request: &Request, signals: &Signals, reply: std::io::Result<Vec<u8>>) -> Result<Report> {
    let thread = &request.thread;
    match serde_json::from_slice(reply.as_deref().unwrap_or_default()) {
        Ok(Reply::Done(report)) => Ok(*report),
        Ok(Reply::Failed(told)) => Err(match told.kind {
            Kind::Interrupted | Kind::Terminated if signals.stop().is_some() => {
                Error { kind: stopped(signals).kind, ..told.into() }
            }
            _ => told.into(),
        }),
        Err(_) if signals.stop().is_some() => Err(stopped(signals)),
        Err(_) => Err(match reply {
            Err(why) => Error::new(Kind::Io, format!("cannot read what the keeper of thread {thread} replied: {why}"))
                .hint("`uwf thread show` tells where the thread stands"),
            Ok(_) => Error::new(Kind::Internal, format!("the keeper of thread {thread} died without a report"))
                .hint("run the same step again: it takes over what the dead keeper left")
                .hint(format!("its last words are in {}", keeper_log(home, request).display())),
        }),
    }
}

fn stopped(signals: &Signals) -> Error {
    let kind = if signals.stop() == Some(signal_hook::consts::SIGINT) { Kind::Interrupted } else { Kind::Terminated };
    Error::new(kind, "stopped")
}

fn keeper_log(home: &Home, request: &Request) -> std::path::PathBuf {
    home.thread_dir(&request.thread).join("keeper.log")
}

fn start(home: &Home, request: &Request, signals: &mut Signals) -> Result<Keeper> {
    // Of a thread that is not active no directory is made: one that has ended may be being removed.
    if home.heads().read(request.thread.as_str())?.is_none() {
        return Err(rebuild::not_active(home, &request.thread));
    }
    home.make_thread_dir(&request.thread)?;
    let log = keeper_log(home, request);
    let null = std::path::Path::new("/dev/null");
    let (reply, write) = std::io::pipe().map_err(|error| cannot_start(&error))?;
    let streams = Streams {
        stdin: File::open(null).at("open", null)?,
        reply: write,
        log: regular::open_with(OpenOptions::new().create(true).append(true), &log).at("open", &log)?,
    };
    if started_by_agent() {
        return Ok(Keeper { pid: execute(home, request, streams)?, reply });
    }
    // What is buffered now would be printed by both.
    let _ = std::io::stdout().flush();
    match fork().map_err(|error| cannot_start(&error))? {
        Fork::Parent(pid) => Ok(Keeper { pid: Pid::from_raw(pid), reply }),
        Fork::Child => {
            drop(reply);
            let code = u8::from(keep(home, request, signals, streams).is_err());
            std::process::exit(code.into())
        }
    }
}

/// Whether this process is part of an attempt. Its environment says so for as long as it lives, and that of a fork too:
/// such a fork would be ended with that attempt if it is abandoned, though it performs a step of its own.
fn started_by_agent() -> bool {
    std::env::var_os(ATTEMPT_VARIABLE).is_some()
}

/// Starts uwf once more, as a keeper.
fn execute(home: &Home, request: &Request, streams: Streams) -> Result<Option<Pid>> {
    let request = serde_json::to_string(request).expect("a request is plain texts");
    let keeper = Command::new(home.bin())
        .arg(KEEPER_ARGUMENT)
        .arg(request)
        .env(crate::home::ROOT_VARIABLES[0], home.root())
        .env_remove(ATTEMPT_VARIABLE)
        .stdin(streams.stdin)
        .stdout(streams.reply)
        .stderr(streams.log)
        .spawn()
        .map_err(|error| cannot_start(&error))?;
    Ok(Pid::from_raw(keeper.id().cast_signed()))
}

fn cannot_start(error: &std::io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot start the keeper: {error}"))
        .hint("nothing was changed: try again when the machine has room for another process")
}

/// Waits until the keeper replies or is gone, passing on the wish to stop once. The keeper replies when all is done.
fn wait(keeper: &Keeper, signals: &mut Signals, tick: &mut dyn FnMut()) {
    let mut told = false;
    while !signals.wait_or_readable(TICK, &keeper.reply) {
        tick();
        if signals.stop().is_some() && !told {
            told = true;
            if let Some(pid) = keeper.pid {
                // It may have ended in this moment; then its report is already there.
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
    }
}

/// The forked keeper: leaves all behind that is the window's, performs the request and replies.
fn keep(home: &Home, request: &Request, signals: &mut Signals, streams: Streams) -> std::io::Result<()> {
    lead();
    ids::begin_anew();
    rustix::stdio::dup2_stdin(&streams.stdin)?;
    rustix::stdio::dup2_stdout(&streams.log)?;
    rustix::stdio::dup2_stderr(&streams.log)?;
    let done = signals.listen_anew().and_then(|()| step::perform(home, request, signals));
    reply(done, streams.reply);
    Ok(())
}

/// The keeper that is uwf started once more: performs the request and prints its reply.
///
/// # Errors
/// `Usage` when the request is not readable; failures of the step itself are in the reply.
pub fn keeper_main(request: &str) -> Result<()> {
    lead();
    let request: Request = serde_json::from_str(request)
        .map_err(|error| Error::new(Kind::Usage, format!("not a keeper's request: {error}")))?;
    let perform = || {
        let mut signals = Signals::listen()?;
        step::perform(&Home::from_environment()?, &request, &mut signals)
    };
    reply(perform(), std::io::stdout());
    Ok(())
}

/// Makes this process what a keeper is to its descendants and to the terminal.
fn lead() {
    processes::own_session();
    processes::become_subreaper();
}

fn reply(done: Result<Report>, mut window: impl Write) {
    let reply = match done {
        Ok(report) => Reply::Done(Box::new(report)),
        Err(error) => Reply::Failed(error.into()),
    };
    let reply = serde_json::to_vec(&reply).expect("reports are JSON");
    // The window may be gone; what was done stays done.
    let _ = window.write_all(&reply);
}
