//! The errors of a thread that is not there, or has ended.

use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::root::error::RootError;
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::root::{history, record};

/// Whether this machine has records of a thread.
pub(crate) fn has_records(home: &Home, id: &ThreadId) -> bool {
    record::says_anything(home, id).unwrap_or(false)
}

/// There is no such thread, as far as index and history tell.
pub(crate) fn not_found(home: &Home, id: &ThreadId) -> RootError {
    RootError::NoThread { thread: id.clone(), has_records: has_records(home, id) }
}

/// The index does not have a thread: it has ended, or was lost. Whoever meets one that has ended removes the marks that
/// could not be removed when it did.
pub(crate) fn not_active(home: &Home, id: &ThreadId) -> RootError {
    match history::of(home, id) {
        Ok(None) => not_found(home, id),
        Ok(Some(line)) => {
            // What still fails is told by `uwf doctor`.
            drop(marks::clear(home, id, &Mark::ALL));
            RootError::Ended { thread: id.clone(), was_killed: line.status == EndStatus::Killed }
        }
        Err(_) => RootError::NotActive(id.clone()),
    }
}
