//! `thread kill`: out of the index first, so that no later swap can succeed; then the agent.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use json_cas::Hash;
use json_cas::durable::FileLock;
use rustix::process::{Pid, Signal};
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Kind, Result};
use crate::home::Home;
use crate::load::Thread;
use crate::{attempts, children, end, history, lock, processes, rebuild, recover};

/// Beyond the agent's own grace: time for the keeper to store what the agent printed.
const KEEPER_MARGIN: Duration = Duration::from_secs(10);

/// Tries to drop a thread whose head keeps moving. Each try takes a millisecond, a step far longer.
const TRIES: usize = 50;

/// Kills a thread and its child threads. Returns its thread-end node, `None` when its own nodes are not readable. When this
/// returns, its agent is gone.
///
/// # Errors
/// `NotFound` when it is not active; of one that was killed before by a command that did not come to its end, the agent is
/// gone then, too. Others after which the thread has ended say so.
pub fn kill(home: &Home, id: &ThreadId) -> Result<Option<Hash>> {
    let dropped = drop_from_index(home, id);
    match &dropped {
        Err(error) if error.kind != Kind::NotFound || !was_killed(home, id)? => return dropped,
        _ => end_all(home, id).map_err(|error| {
            error.hint("the thread has ended; the same command again ends what is left of its agent")
        })?,
    }
    dropped
}

/// Ends what still works for a thread that is not active any more.
fn end_all(home: &Home, id: &ThreadId) -> Result<()> {
    kill_children(home, id)?;
    let grace = home.config().map(|config| config.limits.kill_grace).unwrap_or(uwf_core::config::DEFAULT_KILL_GRACE);
    end_agent(home, id, grace)?;
    // One that was about to begin.
    kill_children(home, id)
}

fn was_killed(home: &Home, id: &ThreadId) -> Result<bool> {
    Ok(history::of(home, id)?.is_some_and(|line| line.status == EndStatus::Killed))
}

/// Children end as their parent does, each with its own record.
fn kill_children(home: &Home, id: &ThreadId) -> Result<()> {
    for child in children::active(home, id)? {
        match kill(home, &child) {
            // It came to its end by itself.
            Err(error) if error.kind == Kind::NotFound => {}
            other => drop(other?),
        }
    }
    Ok(())
}

fn drop_from_index(home: &Home, id: &ThreadId) -> Result<Option<Hash>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let head = home.heads().read(id.as_str())?.ok_or_else(|| rebuild::not_active(home, id))?;
        let ended = match Thread::at(home, id.clone(), head.hash) {
            Ok(thread) => end::kill(&thread, &head).map(Some),
            // A broken thread must not be active for ever.
            Err(broken) if matches!(broken.kind, Kind::Data | Kind::NotFound) => {
                end::kill_unreadable(home, id, &head).map(|()| None)
            }
            Err(other) => Err(other),
        };
        match ended {
            Err(moved) if moved.kind == Kind::Busy && tries < TRIES => {}
            other => return other,
        }
    }
}

fn end_agent(home: &Home, id: &ThreadId, grace: Duration) -> Result<()> {
    let deadline = Instant::now() + grace + KEEPER_MARGIN;
    let mut told = None;
    let is_held = || FileLock::is_held(&home.thread_lock(id));
    while is_held()? && Instant::now() < deadline {
        let keeper = keeper_of(home, id)?;
        if keeper != told
            && let Some(pid) = keeper
        {
            told = keeper;
            // It may end by itself at this moment, which is as good.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = attempts::read(home, id)?.filter(|attempt| attempt.closed.is_none());
    let Some(attempt) = left else { return Ok(()) };
    if is_held()?
        && let Some(keeper) = keeper_of(home, id)?
    {
        let _ = rustix::process::kill_process(keeper, Signal::KILL);
    }
    recover::end_survivors(&attempt, grace)?;
    processes::children_left();
    if let Some(_lock) = lock::take_within(home, id, lock::BUSY_WAIT)?
        && attempt.finished.is_none()
    {
        recover::fail(home, &attempt, None, "the thread was killed")?;
    }
    Ok(())
}

/// The process that holds a thread's lock. Only meaningful while the lock is held; its owner line was written by the
/// holder, and a recycled process id is told apart by whether that process has the lock file open. Its command line would
/// not tell: a keeper has that of its window, where the thread may be named by a part of its id, or by its workflow.
pub(crate) fn keeper_of(home: &Home, id: &ThreadId) -> Result<Option<Pid>> {
    let lock = home.thread_lock(id);
    let owner = FileLock::owner(&lock)?;
    let Some(pid) = owner.and_then(|owner| owner.trim().parse().ok()) else { return Ok(None) };
    if cfg!(target_os = "linux") && !has_open(pid, &lock)? {
        return Ok(None);
    }
    Ok(Pid::from_raw(pid))
}

/// Whether a process has a file open, whatever the file is called there.
fn has_open(pid: i32, path: &Path) -> Result<bool> {
    let identity = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    let wanted = identity(path).at("look at", path)?;
    let dir = PathBuf::from(format!("/proc/{pid}/fd"));
    let open = match std::fs::read_dir(&dir) {
        // It has ended, or is somebody else's.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => return Ok(false),
        other => other.at("list", &dir)?,
    };
    // What is closed meanwhile cannot be looked at.
    Ok(open.flatten().any(|descriptor| identity(&descriptor.path()).is_ok_and(|found| found == wanted)))
}
