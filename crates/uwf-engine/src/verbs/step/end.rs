//! Ends a thread: stores the thread-end node, adds a line to the history and removes the thread from the index.

use json_cas::{Head, NodeHash, SwapOutcome};
use serde::Serialize;
use serde_json::Value;
use uwf_core::node::{EndMeaning, EndStatus, ThreadEnd, TypedPayload};
use uwf_core::outcome;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Workflow;

use crate::attempt::recorded::{self, claim};
use crate::error::Result;
use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::node_types;
use crate::thread::ending::ThreadEnding;
use crate::thread::load;
use crate::thread::load::Thread;

/// Ends a thread. `workflow` is its workflow if a transition ended it; `summary` is the supervisor's summary, if there is one.
///
/// # Errors
/// `Busy` when the head moved meanwhile; errors of store and index.
pub(crate) fn end(
    thread: &Thread<'_>,
    head: &Head,
    ending: ThreadEnding,
    workflow: Option<&Workflow>,
    summary: Option<String>,
) -> Result<NodeHash> {
    let ThreadEnding { status, reason, outcome, condition, return_code } = ending;
    let home = thread.home();
    let _hold = home.hold_nodes()?;
    node_types::ensure(home)?;
    let last_step = thread.last.is_some().then_some(thread.head);
    let plain = ThreadEnd { start: thread.start_hash, last_step, status, reason, return_code, summary, meaning: None };
    let has_meaning = workflow.is_some_and(Workflow::names_outcomes) || plain.outcome() != outcome;
    let meaning = EndMeaning { outcome: outcome.clone(), condition: condition.clone() };
    let end = ThreadEnd { meaning: has_meaning.then_some(meaning), ..plain };
    let end = home.store().put(&end.draft())?;
    let line = HistoryLine {
        thread: thread.id.clone(),
        workflow: Some(thread.start.workflow),
        head: thread.head,
        completed_at: crate::root::ids::now_ms(),
        status,
        end: Some(end),
        outcome: Some(outcome),
        condition,
    };
    drop_from_index(home, head, &line)?;
    Ok(end)
}

/// Ends a thread with unreadable nodes that a person killed. The history contains only that it was killed.
pub(crate) fn kill_unreadable(home: &Home, id: &ThreadId, head: &Head) -> Result<()> {
    let line = HistoryLine {
        thread: id.clone(),
        workflow: None,
        head: head.hash,
        completed_at: crate::root::ids::now_ms(),
        status: EndStatus::Killed,
        end: None,
        outcome: Some(outcome::KILLED.to_owned()),
        condition: None,
    };
    drop_from_index(home, head, &line)
}

/// Appends the line to the history and drops the thread from the index.
fn drop_from_index(home: &Home, head: &Head, line: &HistoryLine) -> Result<()> {
    match home.heads().remove(line.thread.as_str(), &head.version, &record(line))? {
        SwapOutcome::Done => {
            recorded::ended(home, line);
            // The thread has ended even if its marks could not be removed.
            let _ = marks::clear(home, &line.thread, &ThreadMark::ALL);
            claim::remove(home, &line.thread);
            Ok(())
        }
        SwapOutcome::Moved(_) => Err(load::head_moved(&line.thread, "being ended")),
    }
}

fn record(line: &impl Serialize) -> Value {
    serde_json::to_value(line).expect("a history line is texts and numbers")
}
