//! How a thread ended.

use json_cas::{NodeHash, Store};
use uwf_core::moderator::ModeratorDecision;
use uwf_core::node::{EndStatus, ThreadEnd};
use uwf_core::outcome::{self, NOT_SUCCEEDED};

use crate::root::history::HistoryLine;
use crate::root::home::Home;
use crate::thread::nodes;

/// The end of a thread, as its thread-end node and reports have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadEnding {
    /// Completed or killed.
    pub status: EndStatus,
    /// `end`, `no-match`, `killed`, `supervisor: ` and the reason, or why a branch failed.
    pub reason: String,
    /// See [`uwf_core::outcome`].
    pub outcome: String,
    /// Name of the condition of the last transition, if it had one.
    pub condition: Option<String>,
    /// Return code in the thread-end node.
    pub return_code: i32,
}

impl ThreadEnding {
    /// The end that the moderator chose.
    pub fn by(decision: &ModeratorDecision) -> ThreadEnding {
        let outcome = decision.outcome().unwrap_or(outcome::SUCCEEDED);
        let (reason, return_code) = match outcome {
            outcome::SUCCEEDED => (outcome::BY_GRAPH, 0),
            outcome::NO_MATCH => (outcome::NO_MATCH, 0),
            _ => (outcome::BY_GRAPH, i32::from(NOT_SUCCEEDED)),
        };
        let condition = decision.taken().and_then(|taken| taken.condition.clone());
        let (reason, outcome) = (reason.to_owned(), outcome.to_owned());
        ThreadEnding { status: EndStatus::Completed, reason, outcome, condition, return_code }
    }

    /// The end by a supervisor that objects.
    pub(crate) fn stopped(why: &str) -> ThreadEnding {
        let reason = format!("{}{why}", outcome::BY_SUPERVISOR);
        ThreadEnding { reason, outcome: outcome::STOPPED.to_owned(), return_code: 1, ..ThreadEnding::killed() }
    }

    /// The end of a failed branch whose group continues without it.
    pub(crate) fn failed_branch(why: &str) -> ThreadEnding {
        let (reason, outcome) = (why.to_owned(), outcome::FAILED.to_owned());
        ThreadEnding { reason, outcome, return_code: i32::from(NOT_SUCCEEDED), ..ThreadEnding::killed() }
    }

    /// The end by a person. A shell returns the same code after Ctrl-C.
    pub(crate) fn killed() -> ThreadEnding {
        let word = outcome::KILLED.to_owned();
        ThreadEnding {
            status: EndStatus::Killed,
            reason: word.clone(),
            outcome: word,
            condition: None,
            return_code: 130,
        }
    }
}

/// A thread-end node; `None` if it is not readable.
pub fn read(store: &Store, end: NodeHash) -> Option<ThreadEnd> {
    let node = store.try_get(end).ok()??;
    nodes::payload(end, &node).ok()
}

/// Why a group continues without the branch whose thread has ended like this; `None` if it does not, or if the reason is not readable.
#[must_use]
pub fn of_failed_branch(home: &Home, ended: &HistoryLine) -> Option<String> {
    let end = ended.end.filter(|_| ended.is_failed_branch())?;
    read(home.store(), end).map(|end| end.reason)
}

/// Whether a thread has no return code, or was completed by its workflow.
pub(crate) fn is_zero(return_code: &Option<i32>) -> bool {
    return_code.is_none_or(|code| code == 0)
}
