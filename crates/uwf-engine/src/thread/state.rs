//! The state of a thread, derived from index, marks and locks; never stored.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::Mark;

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Ready for its next step.
    Active,
    /// A live process is running a step.
    Running,
    /// A person paused it.
    Paused,
    /// It waits for a person.
    Waiting,
    /// It hit a limit.
    Limited,
    /// Its last attempt failed.
    Stuck,
    /// Its graph reached the end.
    Completed,
    /// It was killed.
    Killed,
    /// Its nodes are not readable.
    Corrupt,
}

impl State {
    /// Every state.
    pub const ALL: [State; 9] = [
        State::Active,
        State::Running,
        State::Paused,
        State::Waiting,
        State::Limited,
        State::Stuck,
        State::Completed,
        State::Killed,
        State::Corrupt,
    ];

    /// Whether its last attempt left something to do before the next one: a person, a limit or a failure.
    pub(crate) fn has_stopped(self) -> bool {
        matches!(self, State::Waiting | State::Limited | State::Stuck)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Running => "running",
            State::Paused => "paused",
            State::Waiting => "waiting",
            State::Limited => "limited",
            State::Stuck => "stuck",
            State::Completed => "completed",
            State::Killed => "killed",
            State::Corrupt => "corrupt",
        }
    }
}

/// State of an active thread with these marks. Probes the lock only if an attempt is open. A lock that cannot be probed, because it
/// belongs to another user, counts as free: the state is only displayed.
pub(crate) fn of_active(home: &Home, id: &ThreadId, marks: &BTreeSet<Mark>) -> State {
    if marks.contains(&Mark::Open) && lock::is_held(home, id).unwrap_or(false) {
        return State::Running;
    }
    match marks.iter().find(|mark| **mark != Mark::Open) {
        Some(Mark::Paused) => State::Paused,
        Some(Mark::Waiting) => State::Waiting,
        Some(Mark::Limited) => State::Limited,
        Some(Mark::Stuck) => State::Stuck,
        Some(Mark::Open) | None => State::Active,
    }
}

/// State of a finished thread.
pub(crate) fn of_finished(status: EndStatus) -> State {
    match status {
        EndStatus::Completed => State::Completed,
        EndStatus::Killed => State::Killed,
    }
}
