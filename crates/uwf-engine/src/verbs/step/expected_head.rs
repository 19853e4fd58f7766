//! The head that a command expects of a thread. If a client repeats a command because it got no reply, the repetition fails if the first
//! command succeeded.

use json_cas::{Head, NodeHash};
use uwf_core::thread::ThreadId;

use crate::error::{Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::thread::load::Thread;

/// The head of an active thread.
///
/// # Errors
/// `Busy` when the thread is at another head than the expected one, or has ended since. `NotFound` when it does not exist, or has ended and
/// no head was expected.
pub fn head(home: &Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<Head> {
    let head = home.heads().read(id.as_str())?;
    check(home, id, head.as_ref().map(|head| head.hash), expected)?;
    head.ok_or_else(|| missing_thread::not_active(home, id))
}

/// Checks the head of a thread, which has none if it has ended.
pub(crate) fn check(home: &Home, id: &ThreadId, head: Option<NodeHash>, expected: Option<NodeHash>) -> Result<()> {
    match (head, expected) {
        (Some(head), Some(expected)) if head != expected => {
            Err(moved_on(id, format!("thread {id} has moved on: its head is {head}, not {expected}")))
        }
        (Some(_), _) => Ok(()),
        (None, expected) => Err(match (missing_thread::not_active(home, id), expected) {
            (Error { cause: Some(ErrorCause::Ended), message, .. }, Some(_)) => {
                moved_on(id, format!("{message} since"))
            }
            (error, _) => error,
        }),
    }
}

/// The error for a command whose thread has changed since the client saw it.
pub(crate) fn moved_on(id: &ThreadId, message: String) -> Error {
    Error::busy(message).hint(format!("nothing was changed; `uwf thread show {id}` shows its state"))
}

/// The thread with its head.
pub(crate) fn active<'h>(home: &'h Home, id: &ThreadId, expected: Option<NodeHash>) -> Result<(Thread<'h>, Head)> {
    let head = head(home, id, expected)?;
    Ok((Thread::load_at(home, id.clone(), head.hash)?, head))
}
