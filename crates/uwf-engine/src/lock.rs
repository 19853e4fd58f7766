//! The thread lock: one stepper per thread, "running" is this lock held by a live process.

use std::time::Duration;

use json_cas::durable::FileLock;
use uwf_core::thread::ThreadId;

use crate::error::{Error, Kind, Result};
use crate::home::Home;

/// How long a second stepper tries before it says "busy".
pub const BUSY_WAIT: Duration = Duration::from_millis(250);

/// Takes a thread's lock.
///
/// # Errors
/// `Busy` when another process holds it for [`BUSY_WAIT`].
pub fn take(home: &Home, thread: &ThreadId) -> Result<FileLock> {
    take_within(home, thread, BUSY_WAIT)?.ok_or_else(|| {
        Error::new(Kind::Busy, format!("thread {thread} is being stepped by another process"))
            .hint("try again when it has finished; `uwf thread show` tells what it is doing")
    })
}

/// Takes a thread's lock within a time; `None` when somebody else holds it all that time.
///
/// # Errors
/// `Io`.
pub fn take_within(home: &Home, thread: &ThreadId, wait: Duration) -> Result<Option<FileLock>> {
    home.make_thread_dir(thread)?;
    FileLock::acquire(&home.thread_lock(thread), wait).map_err(Error::from)
}

/// Whether a live process holds the thread's lock.
pub fn is_held(home: &Home, thread: &ThreadId) -> bool {
    let path = home.thread_lock(thread);
    let Ok(file) = std::fs::File::open(&path) else { return false };
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}
