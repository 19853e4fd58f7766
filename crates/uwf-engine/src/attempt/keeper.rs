//! Window and keeper. `thread step` is a window: it starts uwf again as a keeper, which performs the whole step in its
//! own session, and prints the keeper's report. Killing the window, closing its terminal or pressing Ctrl-C twice loses
//! nothing: the keeper continues, or ends its agent in an orderly way, and its work is on disk before it replies.

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
use uwf_platform::host;

use crate::attempt::agent_process::SignalListener;
use crate::attempt::ended::{stopped, stopped_by};
use crate::attempt::processes::{self, NO_ROOM};
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::{AtPath, Error, Result, SentError};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::missing_thread;
use crate::root::store_keys::KeyHandover;

pub use crate::attempt::processes::KEEPER_ARGUMENT;

/// Interval at which a window calls `tick` while its keeper works.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeeperReply<R> {
    Done(Box<R>),
    Failed(SentError),
}

/// Runs the window: has a keeper carry out a request about a thread, and waits for its report. Calls `tick` about ten
/// times a second.
///
/// # Errors
/// The error that the keeper reports; `Internal` when it dies without a report.
pub fn run<R: DeserializeOwned>(
    home: &Home,
    thread: &ThreadId,
    request: &impl Serialize,
    signals: &mut SignalListener,
    tick: &mut dyn FnMut(),
) -> Result<R> {
    if let Some(signal) = signals.stop() {
        return Err(stopped(signal));
    }
    let (mut keeper, mut reply) = start(home, thread, request)?;
    wait(&keeper, &reply, signals, tick);
    let mut bytes = Vec::new();
    // A keeper that died has written no reply or part of one; both count as no reply.
    let read = reply.read_to_end(&mut bytes).map(|_| bytes);
    let report = report(home, thread, signals, read);
    // It has replied or is dead, so this wait is short.
    let _ = keeper.wait();
    report
}

/// Makes the keeper of a thread end its agent, if the process that waits for the keeper is gone. Returns whether it did.
///
/// # Errors
/// `Io` when the keeper cannot be determined.
pub fn stop_orphan(home: &Home, thread: &ThreadId) -> Result<bool> {
    let Some(keeper) = lock::keeper_of(home, thread)?.filter(|keeper| processes::is_orphan(*keeper)) else {
        return Ok(false);
    };
    // It may have just ended.
    let _ = rustix::process::kill_process(keeper, Signal::TERM);
    Ok(true)
}

/// The report in a keeper's reply, if it could be read.
fn report<R: DeserializeOwned>(
    home: &Home,
    thread: &ThreadId,
    signals: &SignalListener,
    reply: std::io::Result<Vec<u8>>,
) -> Result<R> {
    let replied = serde_json::from_slice(reply.as_deref().unwrap_or_default());
    Err(match (replied, signals.stop()) {
        (Ok(KeeperReply::Done(report)), _) => return Ok(*report),
        (Ok(KeeperReply::Failed(failed)), Some(signal)) if failed.kind.is_stop() => {
            SentError { kind: stopped_by(signal), ..failed }.into()
        }
        (Ok(KeeperReply::Failed(failed)), _) => failed.into(),
        (Err(_), Some(signal)) => stopped(signal),
        (Err(_), None) => match reply {
            Err(error) => Error::io(format!("cannot read the reply of the keeper of thread {thread}: {error}"))
                .hint(format!("`uwf thread show {thread}` shows its state")),
            Ok(_) => Error::internal(format!("the keeper of thread {thread} died without a report"))
                .hint("run the same step again: it takes over the dead keeper's work")
                .hint(format!("its last words are in {}", keeper_log(home, thread).display())),
        },
    })
}

fn keeper_log(home: &Home, thread: &ThreadId) -> std::path::PathBuf {
    home.thread_dir(thread).join("keeper.log")
}

/// Starts a keeper; its reply comes through the pipe.
fn start(home: &Home, thread: &ThreadId, request: &impl Serialize) -> Result<(Child, PipeReader)> {
    // Don't create a directory for an inactive thread: another process may be removing it. If there is one, a head that is not a
    // file of this root is checked by the keeper: it may be far away.
    let is_left_to_keeper = home.index().is_none() && home.thread_dir(thread).is_dir();
    if !is_left_to_keeper && home.heads().read(thread.as_str())?.is_none() {
        return Err(missing_thread::not_active(home, thread));
    }
    home.make_thread_dir(thread)?;
    // Not the window's stderr: its reader would wait for the keeper even after the window is gone.
    let log = keeper_log(home, thread);
    let stderr = regular::open_with(OpenOptions::new().create(true).append(true), &log).path_context("open", &log)?;
    let cannot_start = |error: io::Error| Error::io(format!("cannot start the keeper: {error}")).hint(NO_ROOM);
    let (reply, stdout) = std::io::pipe().map_err(cannot_start)?;
    let request = serde_json::to_string(request).expect("a request is plain texts");
    let mut command = Command::new(home.bin());
    // Pass the root as an argument as well: a keeper that is closed to others shows only its arguments.
    command.arg(KEEPER_ARGUMENT).arg(request).arg(home.root()).arg(processes::starter_argument());
    command.env(crate::root::home::ROOT_VARIABLES[0], home.root()).env_remove(ATTEMPT_VARIABLE);
    let keys = KeyHandover::prepare(home, &mut command).map_err(cannot_start)?;
    let mut keeper = command.stdout(stdout).stderr(stderr).spawn().map_err(cannot_start)?;
    // The reply pipe shows when the keeper is gone.
    let _ = keys.send(&mut keeper);
    Ok((keeper, reply))
}

/// Waits until the keeper replies or is gone. Forwards a stop signal once. The keeper replies after all its work.
fn wait(keeper: &Child, reply: &PipeReader, signals: &mut SignalListener, tick: &mut dyn FnMut()) {
    let mut is_passed_on = false;
    while !signals.wait_or_readable(TICK, reply) {
        tick();
        if let Some(signal) = signals.stop().filter(|_| !is_passed_on) {
            is_passed_on = true;
            if let Some(pid) = Pid::from_raw(keeper.id().cast_signed()) {
                // It may have just ended; then its report is already in the pipe.
                let _ = rustix::process::kill_process(pid, Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
            }
        }
    }
}

/// Runs the keeper: carries out the request and prints its reply.
///
/// # Errors
/// `Usage` when the request is not readable; the reply has any errors of the request itself.
pub fn main<Q: DeserializeOwned, R: Serialize, E: Into<SentError>>(
    request: &str,
    perform: impl FnOnce(&Q) -> Result<R, E>,
) -> Result<()> {
    processes::own_session();
    host().become_subreaper();
    let request: Q =
        serde_json::from_str(request).map_err(|error| Error::usage(format!("not a keeper's request: {error}")))?;
    let reply = match perform(&request) {
        Ok(report) => KeeperReply::Done(Box::new(report)),
        Err(error) => KeeperReply::Failed(error.into()),
    };
    let reply = serde_json::to_vec(&reply).expect("reports are JSON");
    // The window may be gone; the work is done in any case.
    let _ = std::io::stdout().write_all(&reply);
    Ok(())
}
