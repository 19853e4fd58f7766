//! The state of a thread, derived from index, marks and locks; never stored.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::{ids, lock};

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThreadState {
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
    /// It has ended and was not killed; its outcome says how.
    Completed,
    /// It was killed.
    Killed,
    /// Its nodes are not readable.
    Corrupt,
}

impl ThreadState {
    /// Every state.
    pub const ALL: [ThreadState; 9] = [
        ThreadState::Active,
        ThreadState::Running,
        ThreadState::Paused,
        ThreadState::Waiting,
        ThreadState::Limited,
        ThreadState::Stuck,
        ThreadState::Completed,
        ThreadState::Killed,
        ThreadState::Corrupt,
    ];

    /// Whether its last attempt left something to do before the next one: a person, a limit or a failure.
    pub fn has_stopped(self) -> bool {
        matches!(self, ThreadState::Waiting | ThreadState::Limited | ThreadState::Stuck)
    }

    /// Its name. `uwf_core::outcome` refuses outcomes with such a name.
    pub fn name(self) -> &'static str {
        match self {
            ThreadState::Active => "active",
            ThreadState::Running => "running",
            ThreadState::Paused => "paused",
            ThreadState::Waiting => "waiting",
            ThreadState::Limited => "limited",
            ThreadState::Stuck => "stuck",
            ThreadState::Completed => "completed",
            ThreadState::Killed => "killed",
            ThreadState::Corrupt => "corrupt",
        }
    }
}

/// State of an active thread with these marks. A usage limit or a wait that is over no longer counts. Probes the lock only if an attempt is open. A lock that cannot be probed, because it
/// belongs to another user, counts as free: the state is only displayed.
pub(crate) fn of_active(home: &Home, id: &ThreadId, marks: &BTreeSet<ThreadMark>) -> ThreadState {
    if marks.contains(&ThreadMark::Open) && lock::is_held(home, id).unwrap_or(false) {
        return ThreadState::Running;
    }
    let is_over = |mark| marks::get(home, id, mark)?.until.map(|until| until <= ids::now_ms());
    match marks.iter().find(|mark| **mark != ThreadMark::Open) {
        Some(mark @ (ThreadMark::Limited | ThreadMark::Waiting)) if is_over(*mark) == Some(true) => ThreadState::Active,
        Some(ThreadMark::Paused) => ThreadState::Paused,
        Some(ThreadMark::Waiting) => ThreadState::Waiting,
        Some(ThreadMark::Limited) => ThreadState::Limited,
        Some(ThreadMark::Stuck) => ThreadState::Stuck,
        Some(ThreadMark::Open) | None => ThreadState::Active,
    }
}

/// State of a finished thread.
pub(crate) fn of_finished(status: EndStatus) -> ThreadState {
    match status {
        EndStatus::Completed => ThreadState::Completed,
        EndStatus::Killed => ThreadState::Killed,
    }
}
