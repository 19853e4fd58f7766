//! The errors of a thread that is not there, or has ended.

use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::error::{Error, ErrorCause};
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::root::{history, record};

/// What to try when a thread is not found.
pub(super) const ALL_THREADS: &str = "`uwf thread list --all` lists every thread";

/// Whether this machine has records of a thread.
pub(crate) fn has_records(home: &Home, id: &ThreadId) -> bool {
    record::says_anything(home, id).unwrap_or(false)
}

/// There is no such thread, as far as index and history tell.
pub(crate) fn not_found(home: &Home, id: &ThreadId) -> Error {
    Error::not_found(format!("there is no thread {id}")).hint(if has_records(home, id) {
        "but there are records of it here: `uwf recover --dry-run` shows what they say"
    } else {
        ALL_THREADS
    })
}

/// The index does not have a thread: it has ended, or was lost. Whoever meets one that has ended removes the marks that
/// could not be removed when it did.
pub(crate) fn not_active(home: &Home, id: &ThreadId) -> Error {
    match history::of(home, id) {
        Ok(None) => not_found(home, id),
        Ok(Some(line)) => {
            // What still fails is told by `uwf doctor`.
            drop(marks::clear(home, id, &Mark::ALL));
            ended(id, line.status == EndStatus::Killed)
        }
        Err(_) => not_in_index(id),
    }
}

/// A thread has ended.
pub fn ended(id: &ThreadId, was_killed: bool) -> Error {
    Error::not_found(format!("thread {id} {}", how_it_ended(was_killed)))
        .hint(format!("`uwf thread show {id}` shows how"))
        .hint(format!("`uwf thread fork {id}` starts a new thread after its last step"))
        .with_cause(ErrorCause::Ended { was_killed })
}

/// How a thread ended, to complete a sentence about it.
pub(crate) fn how_it_ended(was_killed: bool) -> &'static str {
    if was_killed { "was killed" } else { "has ended" }
}

/// The index does not have a thread, and why is not known.
pub(crate) fn not_in_index(id: &ThreadId) -> Error {
    Error::not_found(format!("thread {id} is not active")).hint("`uwf thread list --all` lists finished threads too")
}
