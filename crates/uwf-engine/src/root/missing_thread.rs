//! The errors for a thread that does not exist, or has ended.

use uwf_core::node::EndStatus;
use uwf_core::outcome;
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;

use crate::error::{Error, ErrorCause};
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{history, record};

/// Hint for a thread that is not found.
pub(super) const ALL_THREADS: &str = "`uwf thread list --all` lists every thread";

/// Whether this machine has records of a thread.
pub(crate) fn has_records(home: &Home, id: &ThreadId) -> bool {
    record::says_anything(home, id).unwrap_or(false)
}

/// The error for a thread that is in neither index nor history.
pub(crate) fn not_found(home: &Home, id: &ThreadId) -> Error {
    Error::not_found(format!("thread {id} does not exist")).hint(if has_records(home, id) {
        "this machine has records of the thread: `uwf recover --dry-run` shows them"
    } else {
        ALL_THREADS
    })
}

/// The error for a thread that is not in the index: it has ended, or was lost. For a thread that has ended, removes
/// marks that could not be removed at its end.
pub(crate) fn not_active(home: &Home, id: &ThreadId) -> Error {
    match history::newest_line(home, id) {
        Ok(None) => not_found(home, id),
        Ok(Some(line)) => {
            // `uwf doctor` reports what still fails.
            drop(marks::clear(home, id, &ThreadMark::ALL));
            ended(home, id, &line)
        }
        Err(_) => not_in_index(id),
    }
}

/// The error for a thread that has ended.
fn ended(home: &Home, id: &ThreadId, line: &HistoryLine) -> Error {
    Error::not_found(format!("thread {id} {}", how_it_ended(home, line)))
        .hint(format!("`uwf thread show {id}` shows how"))
        .hint(format!("`uwf thread fork {id}` starts a new thread after its last step"))
        .with_cause(ErrorCause::Ended)
}

/// How a thread ended, to complete a sentence.
fn how_it_ended(home: &Home, line: &HistoryLine) -> String {
    if line.status != EndStatus::Killed {
        return "has ended".to_owned();
    }
    // A line of an older version has no outcome, but a supervisor's reason says whose it is.
    let end = line.end.and_then(|end| home.store().try_get(end).ok()?);
    let reason = end.and_then(|end| end.payload.get("reason")?.as_str().map(str::to_owned));
    match reason.filter(|reason| reason.starts_with(outcome::BY_SUPERVISOR)) {
        Some(reason) => format!("was {} ({})", outcome::STOPPED, one_line(&reason)),
        None if line.outcome.as_deref() == Some(outcome::FAILED) => {
            "failed, and its group continued without it".to_owned()
        }
        None => "was killed".to_owned(),
    }
}

/// The error for a thread that is not in the index, for an unknown reason.
pub(crate) fn not_in_index(id: &ThreadId) -> Error {
    Error::not_found(format!("thread {id} is not active")).hint("`uwf thread list --all` also lists finished threads")
}
