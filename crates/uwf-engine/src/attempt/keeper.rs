//! Window and keeper. `thread step` is a window: it starts uwf once more as a keeper, which performs the whole step in a
//! session of its own, and reports what the keeper replies. Killing the window, closing its terminal or pressing Ctrl-C twice
//! loses nothing: the keeper continues, or ends its agent in an orderly way, and what it did is on disk before it replies.

use std::fs::OpenOptions;
use std::io;
use std::io::{PipeReader, Read, Write};
use std::process::{Child, Command};
use std::time::Duration;

use durable_files::regular;
use rustix::process::{Pid, Signal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::attempt::agent_process::Signals;
use crate::attempt::ended::{stopped, stopped_by};
use crate::attempt::processes::{self, NO_ROOM};
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::{AtPath, Error, Result, SentError};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::root::store_keys::Handover;

pub use crate::attempt::processes::KEEPER_ARGUMENT;

/// How often a window looks around while its keeper works.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply<R> {
    Done(Box<R>),
    Failed(SentError),
}

/// The window: has a keeper carry out a request about a thread, and waits for its report. `tick` is called about ten times a
/// second.
///
/// # Errors
/// What the keeper reports; `Internal` when it dies without a report.
pub fn run<R: DeserializeOwned>(
    home: &Home,
    thread: &ThreadId,
    request: &impl Serialize,
    signals: &mut Signals,
    tick: &mut dyn FnMut(),
) -> Result<R> {
    if let Some(signal) = signals.stop() {
        return Err(stopped(signal));
    }
    let (mut keeper, mut reply) = start(home, thread, request)?;
    wait(&keeper, &reply, signals, tick);
    let mut bytes = Vec::new();
    // A keeper that died has said nothing, or not all; both read as no reply.
    let read = reply.read_to_end(&mut bytes).map(|_| bytes);
    let report = report(home, thread, signals, read);
    // It has replied or is dead, so this is short.
    let _ = keeper.wait();
    report
}

/// What a keeper's reply says, if it could be read.
fn report<R: DeserializeOwned>(
    home: &Home,
    thread: &ThreadId,
    signals: &Signals,
    reply: std::io::Result<Vec<u8>>,
) -> Result<R> {
    let replied = serde_json::from_slice(reply.as_deref().unwrap_or_default());
    Err(match (replied, signals.stop()) {
        (Ok(Reply::Done(report)), _) => return Ok(*report),
        (Ok(Reply::Failed(failed)), Some(signal)) if failed.kind.is_stop() => {
            SentError { kind: stopped_by(signal), ..failed }.into()
        }
        (Ok(Reply::Failed(failed)), _) => failed.into(),
        (Err(_), Some(signal)) => stopped(signal),
        (Err(_), None) => match reply {
            Err(error) => Error::io(format!("cannot read what the keeper of thread {thread} replied: {error}"))
                .hint("`uwf thread show` shows where the thread stands"),
            Ok(_) => Error::internal(format!("the keeper of thread {thread} died without a report"))
                .hint("run the same step again: it takes over what the dead keeper left")
                .hint(format!("its last words are in {}", keeper_log(home, thread).display())),
        },
    })
}

fn keeper_log(home: &Home, thread: &ThreadId) -> std::path::PathBuf {
    home.thread_dir(thread).join("keeper.log")
}

/// Starts a keeper; what it replies comes through the pipe.
fn start(home: &Home, thread: &ThreadId, request: &impl Serialize) -> Result<(Child, PipeReader)> {
    // Of a thread that is not active no directory is made: one that has ended may be being removed. Where one is and the store is
    // far away, it is left to the keeper to ask.
    let is_left_to_keeper = home.shared().is_some() && home.thread_dir(thread).is_dir();
    if !is_left_to_keeper && home.heads().read(thread.as_str())?.is_none() {
        return Err(missing_thread::not_active(home, thread));
    }
    home.make_thread_dir(thread)?;
    // Not the window's stderr: a reader of that would wait for the keeper after the window is gone.
    let log = keeper_log(home, thread);
    let stderr = regular::open_with(OpenOptions::new().create(true).append(true), &log).at("open", &log)?;
    let cannot_start = |error: io::Error| Error::io(format!("cannot start the keeper: {error}")).hint(NO_ROOM);
    let (reply, stdout) = std::io::pipe().map_err(cannot_start)?;
    let request = serde_json::to_string(request).expect("a request is plain texts");
    let mut command = Command::new(home.bin());
    // The root is among the arguments, too: a keeper that is closed to others shows nothing else.
    command.arg(KEEPER_ARGUMENT).arg(request).arg(home.root());
    command.env(crate::root::home::ROOT_VARIABLES[0], home.root()).env_remove(ATTEMPT_VARIABLE);
    let handover = Handover::prepare(home, &mut command);
    let mut keeper = command.stdout(stdout).stderr(stderr).spawn().map_err(cannot_start)?;
    // The pipe of its reply tells when it is gone.
    let _ = handover.send(&mut keeper);
    Ok((keeper, reply))
}

/// Waits until the keeper replies or is gone, passing on the wish to stop once. The keeper replies when all is done.
fn wait(keeper: &Child, reply: &PipeReader, signals: &mut Signals, tick: &mut dyn FnMut()) {
    let mut is_passed_on = false;
    while !signals.wait_or_readable(TICK, reply) {
        tick();
        if let Some(signal) = signals.stop().filter(|_| !is_passed_on) {
            is_passed_on = true;
            if let Some(pid) = Pid::from_raw(keeper.id().cast_signed()) {
                // It may have ended in this moment; then its report is already there.
                let _ = rustix::process::kill_process(pid, Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
            }
        }
    }
}

/// The keeper: carries out the request and prints its reply.
///
/// # Errors
/// `Usage` when the request is not readable; failures of what was asked for are in the reply.
pub fn main<Q: DeserializeOwned, R: Serialize, E: Into<SentError>>(
    request: &str,
    perform: impl FnOnce(&Q) -> Result<R, E>,
) -> Result<()> {
    processes::own_session();
    processes::become_subreaper();
    let request: Q =
        serde_json::from_str(request).map_err(|error| Error::usage(format!("not a keeper's request: {error}")))?;
    let reply = match perform(&request) {
        Ok(report) => Reply::Done(Box::new(report)),
        Err(error) => Reply::Failed(error.into()),
    };
    let reply = serde_json::to_vec(&reply).expect("reports are JSON");
    // The window may be gone; what was done stays done.
    let _ = std::io::stdout().write_all(&reply);
    Ok(())
}
