//! `thread kill`: out of the index first, so that no later swap can succeed; then the agent.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use json_cas::Hash;
use json_cas::durable::FileLock;
use rustix::process::{Pid, Signal};
use uwf_core::thread::ThreadId;

use crate::error::{Kind, Result};
use crate::home::Home;
use crate::load::Thread;
use crate::{attempts, children, end, lock, processes, rebuild, recover};

/// Beyond the agent's own grace: time for the keeper to store what the agent printed.
const KEEPER_MARGIN: Duration = Duration::from_secs(10);

/// Tries to drop a thread whose head keeps moving. Each try takes a millisecond, a step far longer.
const TRIES: usize = 50;

/// Kills a thread and its child threads. Returns its thread-end node, `None` when its own nodes are not readable. When this returns, its
/// agent is gone.
///
/// # Errors
/// `NotFound` when it is not active.
pub fn kill(home: &Home, id: &ThreadId) -> Result<Option<Hash>> {
    let end = drop_from_index(home, id)?;
    kill_children(home, id)?;
    let grace = home.config().map(|config| config.limits.kill_grace).unwrap_or(uwf_core::config::DEFAULT_KILL_GRACE);
    end_agent(home, id, grace)?;
    // One that was about to begin.
    kill_children(home, id)?;
    Ok(end)
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
    while lock::is_held(home, id) && Instant::now() < deadline {
        let keeper = keeper_of(home, id);
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
    if lock::is_held(home, id)
        && let Some(keeper) = keeper_of(home, id)
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
pub(crate) fn keeper_of(home: &Home, id: &ThreadId) -> Option<Pid> {
    let lock = home.thread_lock(id);
    let owner = FileLock::owner(&lock).ok().flatten()?;
    let pid: i32 = owner.trim().parse().ok()?;
    if cfg!(target_os = "linux") && !has_open(pid, &lock) {
        return None;
    }
    Pid::from_raw(pid)
}

/// Whether a process has a file open, whatever the file is called there.
fn has_open(pid: i32, path: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let Some(wanted) = identity(path) else { return false };
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.into_iter().any(|descriptor| identity(&descriptor.path()) == Some(wanted))
}
