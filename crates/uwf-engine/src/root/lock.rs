//! The thread lock: one process steps a thread at a time. A thread is "running" while a live process holds its lock.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_files::FileLock;
use rustix::process::Pid;
use uwf_core::thread::ThreadId;

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
            .hint("try again when it has finished; `uwf thread show` shows what it is doing")
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

/// The process that holds a thread's lock. Only meaningful while the lock is held. The holder wrote the owner line; a
/// reused process id is recognized because its process does not have the lock file open. Its command line would not
/// help: a keeper's request may name the thread by a part of its id, or by its workflow.
///
/// # Errors
/// `Io` when that cannot be determined: the process may belong to another user.
pub(crate) fn keeper_of(home: &Home, thread: &ThreadId) -> Result<Option<Pid>> {
    let lock = home.thread_lock(thread);
    let owner = FileLock::owner(&lock)?;
    let Some(pid) = owner.and_then(|owner| owner.trim().parse().ok()) else { return Ok(None) };
    if cfg!(target_os = "linux") && !has_open(pid, &lock)? {
        return Ok(None);
    }
    Ok(Pid::from_raw(pid))
}

/// Whether a process has a file open, under any name.
fn has_open(pid: i32, path: &Path) -> Result<bool> {
    let identity = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    let wanted = identity(path).path_context("look at", path)?;
    let dir = PathBuf::from(format!("/proc/{pid}/fd"));
    let open = match std::fs::read_dir(&dir) {
        // It has ended.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.path_context("list", &dir)?,
    };
    let mut unread = Ok(false);
    for descriptor in open {
        let found = descriptor.and_then(|descriptor| identity(&descriptor.path()));
        match found {
            Ok(found) if found == wanted => return Ok(true),
            Ok(_) => {}
            // Closed meanwhile, or the process has ended.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // It may be another file, on a disk that is gone.
            Err(error) => unread = Err(Error::file("look at what is open in", &dir, error)),
        }
    }
    unread
}
