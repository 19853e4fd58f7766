//! Ends a thread: stores the thread-end node, adds a line to the history and removes the thread from the index.

use json_cas::{Hash, Head, Swap};
use serde::Serialize;
use serde_json::Value;
use uwf_core::moderator::EndReason;
use uwf_core::node::{EndStatus, Payload, ThreadEnd};
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::{self, claim};
use crate::error::Result;
use crate::root::history::Finished;
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::root::node_types;
use crate::thread::end_code::{COMPLETED, KILLED, SUPERVISED};
use crate::thread::load::Thread;
use crate::thread::{end_reason, load};

/// Ends a thread that its moderator completed. `summary` is the supervisor's summary, if there is one.
///
/// # Errors
/// `Busy` when the head moved meanwhile; errors of store and index.
pub fn complete(thread: &Thread<'_>, head: &Head, reason: EndReason, summary: Option<String>) -> Result<Hash> {
    let reason = match reason {
        EndReason::Graph => end_reason::END,
        EndReason::NoMatch => end_reason::NO_MATCH,
    };
    retire(thread, head, EndKind { status: EndStatus::Completed, reason, return_code: COMPLETED, summary })
}

/// Ends a thread that its supervisor killed, for a reason that begins with [`end_reason::SUPERVISOR`].
///
/// # Errors
/// As [`complete`].
pub fn stop(thread: &Thread<'_>, head: &Head, reason: &str) -> Result<Hash> {
    retire(thread, head, EndKind { status: EndStatus::Killed, reason, return_code: SUPERVISED, summary: None })
}

/// Ends a thread that a person killed.
///
/// # Errors
/// As [`complete`].
pub fn kill(thread: &Thread<'_>, head: &Head) -> Result<Hash> {
    let (status, reason) = (EndStatus::Killed, end_reason::KILLED);
    retire(thread, head, EndKind { status, reason, return_code: KILLED, summary: None })
}

/// Ends a thread with unreadable nodes that a person killed. The history contains only that it was killed.
///
/// # Errors
/// As [`complete`].
pub(crate) fn kill_unreadable(home: &Home, id: &ThreadId, head: &Head) -> Result<()> {
    let line = Finished {
        thread: id.clone(),
        workflow: None,
        head: head.hash,
        completed_at: crate::root::ids::now_ms(),
        status: EndStatus::Killed,
        end: None,
    };
    drop_from_index(home, head, &line)
}

/// Content of a thread-end node.
struct EndKind<'a> {
    status: EndStatus,
    reason: &'a str,
    return_code: i32,
    summary: Option<String>,
}

fn retire(thread: &Thread<'_>, head: &Head, how: EndKind<'_>) -> Result<Hash> {
    let EndKind { status, reason, return_code, summary } = how;
    let home = thread.home();
    let _hold = home.hold_nodes()?;
    node_types::ensure(home)?;
    let end = ThreadEnd {
        start: thread.start_hash,
        last_step: thread.last.is_some().then_some(thread.head),
        status,
        reason: reason.to_owned(),
        return_code,
        summary,
    };
    let end = home.store().put(&end.draft())?;
    let line = Finished {
        thread: thread.id.clone(),
        workflow: Some(thread.start.workflow),
        head: thread.head,
        completed_at: crate::root::ids::now_ms(),
        status,
        end: Some(end),
    };
    drop_from_index(home, head, &line)?;
    Ok(end)
}

/// Appends the line to the history and drops the thread from the index.
fn drop_from_index(home: &Home, head: &Head, line: &Finished) -> Result<()> {
    match home.heads().remove(line.thread.as_str(), &head.version, &record(line))? {
        Swap::Done => {
            recorded::ended(home, line);
            // The thread has ended even if its marks could not be removed.
            let _ = marks::clear(home, &line.thread, &Mark::ALL);
            claim::remove(home, &line.thread);
            Ok(())
        }
        Swap::Moved(_) => Err(load::head_moved(&line.thread, "being ended")),
    }
}

fn record(line: &impl Serialize) -> Value {
    serde_json::to_value(line).expect("a history line is texts and numbers")
}
