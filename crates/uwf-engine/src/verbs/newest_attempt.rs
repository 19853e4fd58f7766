//! The attempt that a command was made for. A head stays where it is when an attempt fails or its agent asks something, so the head
//! alone does not tell a command that is sent again from one that is meant to try again.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::elsewhere;
pub use crate::attempt::newest_attempt::NewestAttempt;
use crate::error::Result;
use crate::root::home::Home;
use crate::verbs::expected_head;

/// The newest attempt at this head, as far as the record of the thread tells, and the claim where machines share a store.
///
/// # Errors
/// `Io` when the record cannot be read, those of a shared store.
pub fn at(home: &Home, id: &ThreadId, head: Hash) -> Result<NewestAttempt> {
    // An attempt whose id is none is not read from a record.
    let id = elsewhere::newest_id(home, id, head)?.and_then(|id| id.parse().ok());
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
    let message = format!("thread {id} has been tried since: its newest attempt is {newest}, not {expected}");
    Err(expected_head::moved_on(id, message))
}
