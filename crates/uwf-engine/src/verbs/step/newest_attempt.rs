//! The attempt that a command was issued for. A head does not move when an attempt fails or its agent asks a question. So the head alone
//! does not distinguish a repeated command from a deliberate retry.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::elsewhere;
pub use crate::attempt::newest_attempt::NewestAttempt;
use crate::error::Result;
use crate::root::home::Home;
use crate::verbs::step::expected_head;

/// The newest attempt at this head, by the thread's record and, in a shared store, the claim.
///
/// # Errors
/// `Io` if the record cannot be read, and errors of a shared store.
pub fn at_head(home: &Home, id: &ThreadId, head: NodeHash) -> Result<NewestAttempt> {
    // Attempts with an invalid id are never read from a record.
    let id = elsewhere::newest_id(home, id, head)?.and_then(|id| id.parse().ok());
    Ok(id.map_or(NewestAttempt::None, NewestAttempt::Is))
}

/// Checks that the newest attempt at this head is the expected one, if any is expected.
///
/// # Errors
/// `Busy` if it is another attempt; errors of [`at_head`].
pub fn check(home: &Home, id: &ThreadId, head: NodeHash, expected: Option<NewestAttempt>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    let newest = at_head(home, id, head)?;
    if newest == expected {
        return Ok(());
    }
    let message = format!("thread {id} has a newer attempt: {newest}, not {expected}");
    Err(expected_head::moved_on(id, message))
}
