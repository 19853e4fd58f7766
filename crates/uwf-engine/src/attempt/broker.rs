//! The broker of an attempt holds the keys of a shared store, so that the agent's processes don't need them.
//!
//! The keeper starts the broker before the agent. The agent's processes read and store nodes through the broker's
//! socket (`service`). The broker outlives a killed keeper: the agent continues, and the broker renews the lease and
//! stores the result.

mod bounds;
mod service;
mod stand_in;

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use durable_files::regular;
use uwf_core::thread::ThreadId;

use self::service::BrokerService;
use crate::attempt::processes::{self, NO_ROOM};
use crate::attempt::recorded::{self, AttemptOpening};
use crate::attempt_variable::{ATTEMPT_ARGUMENT, ATTEMPT_VARIABLE};
use crate::error::{AtPath, Error, Result};
use crate::root::broker_link;
use crate::root::home::Home;
use crate::root::sharing;
use crate::root::store_keys::KeyHandover;

/// Hidden argument that makes `uwf` a broker.
pub const BROKER_ARGUMENT: &str = "__broker";

/// The broker's message to the keeper when its socket is ready.
const READY: &str = "ready\n";

/// The keeper's message to the broker when the agent has ended. If the pipe closes without it, the keeper was killed.
const OVER: &[u8] = b"over\n";

/// Only the owner may connect.
const SOCKET_MODE: u32 = 0o600;

/// A socket this old is a leftover if it does not answer.
const OLD: Duration = Duration::from_hours(24);

/// The keeper's side of a broker. The broker ends when this is dropped.
pub(crate) struct BrokerProcess {
    process: Child,
    stdin: Option<UnixStream>,
}

impl BrokerProcess {
    /// Starts the broker of an attempt and waits until its socket is ready; `None` without a shared store.
    ///
    /// # Errors
    /// `Io` when it cannot be started, `Internal` when it ends before its socket is ready.
    pub(crate) fn start(home: &Home, opened: &AttemptOpening) -> Result<Option<BrokerProcess>> {
        if home.store_url().is_none() {
            return Ok(None);
        }
        let thread = &opened.thread;
        let log = home.thread_dir(thread).join("keeper.log");
        let stderr =
            regular::open_with(OpenOptions::new().create(true).append(true), &log).path_context("open", &log)?;
        let mut command = Command::new(home.bin());
        command.arg(BROKER_ARGUMENT).args([ATTEMPT_ARGUMENT, &opened.attempt]).arg(home.root());
        command.args([thread.as_str(), &opened.role]).env_remove(ATTEMPT_VARIABLE);
        let not_started = |error: io::Error| {
            Error::io(format!(
                "cannot start the process that holds the store for the agent of thread {thread}: {error}"
            ))
            .hint(NO_ROOM)
        };
        let keys = KeyHandover::prepare(home, &mut command).map_err(not_started)?;
        let mut process = command.stdout(Stdio::piped()).stderr(stderr).spawn().map_err(not_started)?;
        let stdin = keys.send(&mut process).map_err(not_started)?;
        let stdout = process.stdout.take();
        let broker = BrokerProcess { process, stdin };
        let mut said = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut said).map_err(not_started)?;
        }
        if said != READY {
            let log = log.display();
            return Err(Error::internal(format!(
                "the process that holds the store for the agent of thread {thread} has ended: see {log}"
            ))
            .hint("no agent was started; step again"));
        }
        Ok(Some(broker))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.stdin.take() {
            // A broker that is gone cannot receive it.
            let _ = stdin.write_all(OVER);
        }
        // It may have been reaped with other children.
        let _ = self.process.wait();
    }
}

/// The error for a call that did not come from uwf.
fn not_arguments() -> Error {
    Error::usage("these are not the arguments of a broker")
}

/// Runs the broker: serves the processes of an attempt until its keeper sends that the agent has ended or, if the
/// keeper is gone, until those processes have ended. `args` are the arguments after [`BROKER_ARGUMENT`].
///
/// # Errors
/// `Usage` for wrong arguments, `Io` if the socket cannot be created.
pub fn main(args: &[&str]) -> Result<()> {
    let [flag, attempt, root, thread, role] = args else { return Err(not_arguments()) };
    if *flag != ATTEMPT_ARGUMENT {
        return Err(not_arguments());
    }
    processes::own_session();
    let home = Home::open_root(Path::new(root))?;
    let thread: ThreadId = thread.parse().map_err(|_| not_arguments())?;
    let found = recorded::of_process(&home, &thread, role, Some(attempt))?;
    let opened = found.ok_or_else(not_arguments)?.opened;
    let socket = home.socket(attempt).ok_or_else(not_arguments)?;
    let listener = listen(&home, &socket)?;
    let service = Arc::new(BrokerService::new(home, opened.clone())?);
    // Separate threads: this one notices the end of the keeper or the agent at once, however slow the store is.
    let [preparing, serving] = [Arc::clone(&service), Arc::clone(&service)];
    std::thread::spawn(move || preparing.prepare());
    std::thread::spawn(move || serving.accept(&listener));
    // The code below notices a keeper that is gone.
    let _ = io::stdout().write_all(READY.as_bytes()).and_then(|()| io::stdout().flush());
    let mut said = Vec::new();
    let _ = io::stdin().lock().read_to_end(&mut said);
    if said != OVER {
        stand_in::run(service.home(), &opened);
    }
    let _ = std::fs::remove_file(&socket);
    Ok(())
}

fn listen(home: &Home, socket: &Path) -> Result<UnixListener> {
    let dir = home.sockets_dir();
    let mut made = std::fs::DirBuilder::new();
    made.recursive(true).mode(sharing::output_dir_mode(home)).create(&dir).path_context("create", &dir)?;
    sweep(&dir);
    let reachable = broker_link::reachable(socket).path_context("open", &dir)?;
    let listener = UnixListener::bind(&reachable.path).path_context("listen at", socket)?;
    std::fs::set_permissions(socket, PermissionsExt::from_mode(SOCKET_MODE))
        .path_context("restrict to its owner", socket)?;
    Ok(listener)
}

/// Removes the sockets of killed brokers.
fn sweep(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let is_old = |path: &PathBuf| {
        let made = path.symlink_metadata().and_then(|meta| meta.modified()).ok();
        made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > OLD)
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(is_old) {
        let answers = broker_link::reachable(&path).and_then(|short| UnixStream::connect(&short.path));
        if answers.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            // A leftover socket only occupies a name.
            let _ = std::fs::remove_file(path);
        }
    }
}
