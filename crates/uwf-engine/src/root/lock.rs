//! The thread lock: one process steps a thread at a time. A thread is "running" while a live process holds its lock.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use durable_files::{FileLock, regular};
use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;

/// How long a second process waits for the lock before it reports "busy".
pub const BUSY_WAIT: Duration = Duration::from_millis(250);

/// Takes a thread's lock.
///
/// # Errors
/// `Busy` when another process holds it for [`BUSY_WAIT`].
pub fn take(home: &Home, thread: &ThreadId) -> Result<FileLock> {
    take_within(home, thread, BUSY_WAIT)?.ok_or_else(|| {
        Error::busy(format!("thread {thread} is being stepped by another process"))
            .hint(format!("try again when it has finished; `uwf thread show {thread}` shows what it is doing"))
    })
}

/// Takes a thread's lock within a time limit; `None` if another process holds it for all that time.
pub fn take_within(home: &Home, thread: &ThreadId, wait: Duration) -> Result<Option<FileLock>> {
    home.make_thread_dir(thread)?;
    Ok(FileLock::acquire(&home.thread_lock(thread), wait)?)
}

/// Whether a live process holds the thread's lock.
///
/// # Errors
/// `Io` when that cannot be determined.
pub fn is_held(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(FileLock::is_held(&home.thread_lock(thread))?)
}

/// Shows other processes that this one holds a thread's lock, until it is dropped.
#[must_use]
pub(crate) struct HolderMark {
    _file: Option<File>,
}

/// Names this process as the holder of a thread's lock.
///
/// # Errors
/// `Io` when the name cannot be written.
pub(crate) fn sign(home: &Home, thread: &ThreadId, lock: &FileLock) -> Result<HolderMark> {
    let own = std::process::id();
    lock.write_owner(&own.to_string())?;
    if host().shows_open_files() {
        return Ok(HolderMark { _file: None });
    }
    // The system names the process that holds a lock of this kind, which ends with the process.
    let path = home.thread_holder(thread);
    let mut create = OpenOptions::new();
    let mark =
        regular::open_with(create.write(true).create(true).truncate(false), &path).path_context("open", &path)?;
    let is_marked = rustix::fs::fcntl_lock(&mark, FlockOperation::NonBlockingLockExclusive).is_ok();
    // Without the mark, `kill` waits until this process ends by itself.
    Ok(HolderMark { _file: is_marked.then_some(mark) })
}

/// The process that holds a thread's lock. Only meaningful while the lock is held. The holder wrote the owner line; a
/// reused process id is recognized because its process does not have the lock file open, or does not hold the mark of [`sign`]. Its command
/// line would not help: a keeper's request may name the thread by a part of its id, or by its workflow.
///
/// # Errors
/// `Io` when that cannot be determined: the process may belong to another user.
pub(crate) fn keeper_of(home: &Home, thread: &ThreadId) -> Result<Option<Pid>> {
    let lock = home.thread_lock(thread);
    let owner = FileLock::owner(&lock)?;
    let Some(pid) = owner.and_then(|owner| owner.trim().parse::<u32>().ok()) else { return Ok(None) };
    let has_open = host().has_open(pid, &lock);
    let has_open =
        has_open.map_err(|error| Error::io(format!("cannot look at what process {pid} has open: {error}")))?;
    let is_holder = match has_open {
        Some(has_open) => has_open,
        None => marked_holder(&home.thread_holder(thread))? == Some(pid),
    };
    Ok(Pid::from_raw(pid.cast_signed()).filter(|_| is_holder))
}

/// The process whose [`HolderMark`] a file is.
fn marked_holder(path: &Path) -> Result<Option<u32>> {
    let Some(file) = regular::open_if_there(path)? else { return Ok(None) };
    let wanted = Flock::from(FlockType::ReadLock);
    let found = fcntl_getlk(&file, &wanted).map_err(std::io::Error::from).path_context("look at", path)?;
    Ok(found.and_then(|found| found.pid).map(|pid| pid.as_raw_nonzero().get().cast_unsigned()))
}
