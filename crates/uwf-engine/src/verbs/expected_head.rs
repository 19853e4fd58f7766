//! What a command was made for: a thread at the head at which somebody saw it. Whoever repeats a command, since no reply to the
//! first one came, is refused if that one was done.

use json_cas::{Hash, Head};
use uwf_core::thread::ThreadId;

use crate::error::{Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::thread::load::Thread;

/// The head of an active thread.
///
/// # Errors
/// `Busy` when it is not at the head that is expected, or has ended; without an expectation `NotFound` when it has ended, or
/// there is no such thread.
pub fn head(home: &Home, id: &ThreadId, expected: Option<Hash>) -> Result<Head> {
    match (home.heads().read(id.as_str())?, expected) {
        (Some(head), Some(expected)) if head.hash != expected => {
            Err(moved_on(id, format!("thread {id} has moved on: its head is {}, not {expected}", head.hash)))
        }
        (Some(head), _) => Ok(head),
        (None, expected) => Err(match (missing_thread::not_active(home, id), expected) {
            (Error { cause: Some(ErrorCause::Ended { was_killed }), .. }, Some(_)) => {
                moved_on(id, format!("thread {id} {} since", missing_thread::how_it_ended(was_killed)))
            }
            (error, _) => error,
        }),
    }
}

/// The refusal of a change of a thread that is no longer as it was seen.
pub(crate) fn moved_on(id: &ThreadId, message: String) -> Error {
    Error::busy(message).hint(format!("nothing was changed; `uwf thread show {id}` shows where it stands"))
}

/// The same with the thread that it is the head of.
///
/// # Errors
/// As [`head`], and those of its nodes.
pub(crate) fn active<'h>(home: &'h Home, id: &ThreadId, expected: Option<Hash>) -> Result<(Thread<'h>, Head)> {
    let head = head(home, id, expected)?;
    Ok((Thread::at(home, id.clone(), head.hash)?, head))
}
