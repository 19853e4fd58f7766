//! The filter of a listing.

use json_cas::NodeHash;
use uwf_core::label::LabelFilter;
use uwf_core::thread::ThreadId;

use super::ThreadRow;
use crate::root::project_files::ProjectRoot;
use crate::thread::state::ThreadState;

/// Which threads to list.
#[derive(Debug, Clone, Default)]
pub struct ThreadFilter {
    /// Include finished threads.
    pub all: bool,
    /// Only threads of these workflows.
    pub workflows: Option<Vec<NodeHash>>,
    /// Only threads that begin at this StartNode.
    pub start: Option<NodeHash>,
    /// Only threads in one of these states; in any state if empty. Finished threads are listed if their state is one of these.
    pub states: Vec<ThreadState>,
    /// Only threads that ended with one of these outcomes, if there are any.
    pub outcomes: Vec<String>,
    /// Only threads at this role: it is running, waits, failed or is next. An ended thread is at the role of its last step.
    pub role: Option<String>,
    /// Only threads with this text in their id, their task or the name of their workflow, ignoring case.
    pub search: Option<String>,
    /// Only threads that work in this project.
    pub project: Option<ProjectRoot>,
    /// Only threads with all of these labels.
    pub labels: Vec<LabelFilter>,
    /// Only threads that come after this one in a listing.
    pub after: Option<ThreadId>,
    /// Leave out the threads of groups whose player is listed; with `outcomes`, of all groups. They don't count for the limit.
    pub folds_branches: bool,
    /// At most this many.
    pub limit: Option<usize>,
    /// Skip this many threads.
    pub offset: usize,
}

impl ThreadFilter {
    /// Whether finished threads are requested.
    pub(super) fn asks_finished(&self) -> bool {
        self.all
            || !self.outcomes.is_empty()
            || self.states.contains(&ThreadState::Completed)
            || self.states.contains(&ThreadState::Killed)
    }

    /// Whether a thread may match, without reading its nodes.
    pub(super) fn may_show(&self, row: &ThreadRow) -> bool {
        let is_of_workflow = match (&self.workflows, row.workflow) {
            (Some(wanted), Some(workflow)) => wanted.contains(&workflow),
            (Some(_), None) => !row.is_finished(),
            (None, _) => true,
        };
        let may_be_corrupt = self.states.contains(&ThreadState::Corrupt) && !row.is_finished();
        let may_end_so = self.has_outcome(row) || (row.is_finished() && row.outcome.is_none());
        is_of_workflow && may_end_so && (self.is_in_state(row) || may_be_corrupt)
    }

    /// Whether the row of a thread whose nodes were read matches, except for the role.
    pub(super) fn shows(&self, row: &ThreadRow) -> bool {
        let is_of_workflow = |wanted: &Vec<NodeHash>| row.workflow.is_some_and(|workflow| wanted.contains(&workflow));
        self.workflows.as_ref().is_none_or(is_of_workflow) && self.is_in_state(row) && self.has_outcome(row)
    }

    pub(super) fn is_in_state(&self, row: &ThreadRow) -> bool {
        self.states.is_empty() || self.states.contains(&row.state)
    }

    fn has_outcome(&self, row: &ThreadRow) -> bool {
        self.outcomes.is_empty() || row.outcome.as_ref().is_some_and(|outcome| self.outcomes.contains(outcome))
    }

    /// Whether the filter needs the nodes of all active threads.
    pub(super) fn asks_nodes(&self) -> bool {
        self.workflows.is_some() || self.states.contains(&ThreadState::Corrupt) || self.asks_last_steps()
    }

    /// Whether the filter also needs the nodes of finished threads.
    pub(super) fn asks_last_steps(&self) -> bool {
        self.role.is_some() || self.search.is_some() || self.start.is_some() || !self.outcomes.is_empty()
    }

    /// Number of heads to read for a listing of at most `candidates` threads.
    pub(super) fn reads_of(&self, asks_all: bool, candidates: usize) -> usize {
        if asks_all { candidates } else { candidates.min(self.limit.unwrap_or(usize::MAX)) }
    }
}
