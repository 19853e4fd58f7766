//! Finished threads in `history.jsonl`.

use std::collections::HashSet;

use json_cas::NodeHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::node::EndStatus;
use uwf_core::outcome;
use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::root::home::Home;

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryLine {
    /// Its id.
    pub thread: ThreadId,
    /// Its workflow; absent when its nodes were no longer readable when a person ended it.
    pub workflow: Option<NodeHash>,
    /// Its last StepNode, or the StartNode if it has no step.
    pub head: NodeHash,
    /// Unix milliseconds.
    pub completed_at: u64,
    /// Completed or killed. A line of an older store has no status: completed.
    #[serde(default = "completed")]
    pub status: EndStatus,
    /// The thread-end node. A line of an older store has no such node.
    #[serde(default)]
    pub end: Option<NodeHash>,
    /// The outcome. A line of an older version has none: its thread-end node says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of the condition of the last transition. A line of an older version has none: its workflow says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

impl HistoryLine {
    /// Whether it is the thread of a failed branch that its group continued without.
    #[must_use]
    pub(crate) fn is_failed_branch(&self) -> bool {
        self.status == EndStatus::Killed && self.outcome.as_deref() == Some(outcome::FAILED)
    }

    /// Completed or killed, as reports show it: a failed branch has ended, but was not killed.
    #[must_use]
    pub(crate) fn shown_status(&self) -> EndStatus {
        if self.is_failed_branch() { EndStatus::Completed } else { self.status }
    }
}

fn completed() -> EndStatus {
    EndStatus::Completed
}

/// The newest line about a thread.
///
/// # Errors
/// Errors of the journal; a line that is not readable counts as absent.
pub fn newest_line(home: &Home, thread: &ThreadId) -> Result<Option<HistoryLine>> {
    Ok(home.journal().newest(thread.as_str())?.and_then(|line| finished(&line)))
}

/// All finished threads, oldest first; for a thread that is listed twice, the newest line.
pub fn all(home: &Home) -> Result<Vec<HistoryLine>> {
    Ok(lines(home)?.into_iter().map(|(finished, _)| finished).collect())
}

/// Like [`all`], with the lines as they are written, so that they can be copied to another store.
pub(crate) fn lines(home: &Home) -> Result<Vec<(HistoryLine, Value)>> {
    let mut seen = HashSet::new();
    let newest_first = home.journal().records()?.readable.into_iter().rev();
    let known = newest_first.filter_map(|line| Some((finished(&line)?, line)));
    let mut lines: Vec<(HistoryLine, Value)> = known.filter(|(of, _)| seen.insert(of.thread.clone())).collect();
    lines.reverse();
    Ok(lines)
}

pub(crate) fn finished(line: &Value) -> Option<HistoryLine> {
    HistoryLine::deserialize(line).ok()
}
