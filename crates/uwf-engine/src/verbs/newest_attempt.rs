//! The attempt that a command was made for. A head stays where it is when an attempt fails or its agent asks something, so the head
//! alone does not tell a command that is sent again from one that is meant to try again.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

pub use crate::attempt::newest_attempt::NewestAttempt;
use crate::attempt::recorded;
use crate::error::{Result, VerbError};
use crate::root::home::Home;

/// The newest attempt at this head, as far as the record of the thread tells.
///
/// # Errors
/// `Io` when the record cannot be read.
pub fn at(home: &Home, id: &ThreadId, head: Hash) -> Result<NewestAttempt> {
    let attempt = recorded::read(home, id)?.filter(|attempt| attempt.opened.expected_head == head);
    // An attempt whose id is none is not read from a record.
    let id = attempt.and_then(|attempt| attempt.opened.attempt.parse().ok());
    Ok(id.map_or(NewestAttempt::None, NewestAttempt::Is))
}

/// Checks that the newest attempt at this head is the one that is expected, if one is.
///
/// # Errors
/// `Busy` when there is another; those of [`at`].
pub fn check(home: &Home, id: &ThreadId, head: Hash, expected: Option<NewestAttempt>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    let newest = at(home, id, head)?;
    if newest == expected {
        return Ok(());
    }
    Err(VerbError::TriedSince { thread: id.clone(), newest, expected }.into())
}
