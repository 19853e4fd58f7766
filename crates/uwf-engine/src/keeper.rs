//! Window and keeper. `thread step` is a window: it starts uwf again as the keeper, which performs the whole step in a
//! session of its own, and reports what the keeper reports. Killing the window loses nothing.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::child::Signals;
use crate::error::{AtPath, Error, Kind, Result, Told};
use crate::home::Home;
use crate::processes;
use crate::step::{self, Report, Request};

/// Hidden argument that makes `uwf` a keeper; a JSON request follows it.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// How often a window looks around while its keeper works.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Done(Box<Report>),
    Failed(Told),
}

/// The window: starts a keeper for one step and waits for it. `tick` is called about ten times a second.
///
/// # Errors
/// What the keeper reports; `Internal` when it dies without a report.
pub fn step(home: &Home, request: &Request, signals: &mut Signals, tick: &mut dyn FnMut()) -> Result<Report> {
    if signals.stop().is_some() {
        return Err(stopped(signals));
    }
    let mut keeper = spawn(home, request)?;
    let mut stdout = keeper.stdout.take().expect("stdout was piped");
    wait(&keeper, &stdout, signals, tick);
    let mut reply = Vec::new();
    // A keeper that died has said nothing, or not all; both read as no reply.
    let _ = stdout.read_to_end(&mut reply);
    let _ = keeper.wait();
    match serde_json::from_slice(&reply) {
        Ok(Reply::Done(report)) => Ok(*report),
        Ok(Reply::Failed(told)) => Err(match told.kind {
            Kind::Interrupted | Kind::Terminated if signals.stop().is_some() => {
                Error { kind: stopped(signals).kind, ..told.into() }
            }
            _ => told.into(),
        }),
        Err(_) if signals.stop().is_some() => Err(stopped(signals)),
        Err(_) => {
            Err(Error::new(Kind::Internal, format!("the keeper of thread {} died without a report", request.thread))
                .hint("run the same step again: it takes over what the dead keeper left")
                .hint(format!("its last words are in {}", keeper_log(home, request).display())))
        }
    }
}

fn stopped(signals: &Signals) -> Error {
    let kind = if signals.stop() == Some(signal_hook::consts::SIGINT) { Kind::Interrupted } else { Kind::Terminated };
    Error::new(kind, "stopped")
}

fn keeper_log(home: &Home, request: &Request) -> std::path::PathBuf {
    home.thread_dir(&request.thread).join("keeper.log")
}

fn spawn(home: &Home, request: &Request) -> Result<Child> {
    home.make_thread_dir(&request.thread)?;
    let log = keeper_log(home, request);
    // Not the window's stderr: a reader of that would wait for the keeper after the window is gone.
    let stderr = OpenOptions::new().create(true).append(true).open(&log).at("open", &log)?;
    let request = serde_json::to_string(request).expect("a request is plain texts");
    Command::new(home.bin())
        .arg(KEEPER_ARGUMENT)
        .arg(request)
        .env(crate::home::ROOT_VARIABLES[0], home.root())
        // Started by an agent, it is still no part of that agent's attempt: should that one be abandoned, this step is not.
        .env_remove("UWF_ATTEMPT")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(|error| {
            Error::new(Kind::Io, format!("cannot start the keeper {}: {error}", home.bin().display()))
                .hint("nothing was changed: try again when the machine has room for another process")
        })
}

/// Waits until the keeper replies or is gone, passing on the wish to stop once. The keeper replies when all is done.
fn wait(keeper: &Child, stdout: &ChildStdout, signals: &mut Signals, tick: &mut dyn FnMut()) {
    let mut told = false;
    while !signals.wait_or_readable(TICK, stdout) {
        tick();
        if signals.stop().is_some() && !told {
            told = true;
            if let Some(pid) = Pid::from_raw(keeper.id().cast_signed()) {
                // It may have ended in this moment; then its report is already there.
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
    }
}

/// The keeper: performs the request and prints its reply.
///
/// # Errors
/// `Usage` when the request is not readable; failures of the step itself are in the reply.
pub fn keeper_main(request: &str) -> Result<()> {
    processes::own_session();
    processes::become_subreaper();
    let request: Request = serde_json::from_str(request)
        .map_err(|error| Error::new(Kind::Usage, format!("not a keeper's request: {error}")))?;
    let reply = match perform(&request) {
        Ok(report) => Reply::Done(Box::new(report)),
        Err(error) => Reply::Failed(error.into()),
    };
    let reply = serde_json::to_vec(&reply).expect("reports are JSON");
    // The window may be gone; what was done stays done.
    let _ = std::io::stdout().write_all(&reply);
    Ok(())
}

fn perform(request: &Request) -> Result<Report> {
    let mut signals = Signals::listen()?;
    let home = Home::from_environment()?;
    step::perform(&home, request, &mut signals)
}
