//! Which threads are listed.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use super::Row;
use crate::thread::state::State;

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Finished threads too.
    pub all: bool,
    /// Only threads of these workflows.
    pub workflows: Option<Vec<Hash>>,
    /// Only threads that begin at this StartNode.
    pub start: Option<Hash>,
    /// Only threads in one of these states; in any when there is none. Finished threads are listed if one of these is theirs.
    pub states: Vec<State>,
    /// Only threads whose last step is of this role.
    pub role: Option<String>,
    /// Only threads with this text in their id, the name of their workflow or their task, in upper or lower case.
    pub search: Option<String>,
    /// Only threads older than this one: what comes after it in a listing.
    pub after: Option<ThreadId>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Leave out this many first.
    pub offset: usize,
}

impl Filter {
    /// Whether finished threads are among those asked for.
    pub(super) fn asks_finished(&self) -> bool {
        self.all || self.states.contains(&State::Completed) || self.states.contains(&State::Killed)
    }

    /// Whether a thread may be shown, as far as that is known without its nodes.
    pub(super) fn may_show(&self, row: &Row) -> bool {
        let is_of_workflow = match (&self.workflows, row.workflow) {
            (Some(wanted), Some(workflow)) => wanted.contains(&workflow),
            (Some(_), None) => !row.is_finished(),
            (None, _) => true,
        };
        let may_be_corrupt = self.states.contains(&State::Corrupt) && !row.is_finished();
        is_of_workflow && (self.is_in_state(row) || may_be_corrupt)
    }

    /// Whether a thread whose nodes were read is shown, as far as its row tells.
    pub(super) fn shows(&self, row: &Row) -> bool {
        let is_of_workflow = |wanted: &Vec<Hash>| row.workflow.is_some_and(|workflow| wanted.contains(&workflow));
        self.workflows.as_ref().is_none_or(is_of_workflow)
            && self.is_in_state(row)
            && self.role.as_ref().is_none_or(|wanted| row.role.as_ref() == Some(wanted))
    }

    pub(super) fn is_in_state(&self, row: &Row) -> bool {
        self.states.is_empty() || self.states.contains(&row.state)
    }

    /// Whether it takes the nodes of all active threads to know which are shown.
    pub(super) fn asks_nodes(&self) -> bool {
        self.workflows.is_some() || self.states.contains(&State::Corrupt) || self.asks_last_steps()
    }

    /// Whether it takes those of finished threads, too.
    pub(super) fn asks_last_steps(&self) -> bool {
        self.role.is_some() || self.search.is_some() || self.start.is_some()
    }

    /// How many heads must be read for a listing of these threads, of which so many may be shown.
    pub(super) fn reads_of(&self, asks_all: bool, candidates: usize) -> usize {
        if asks_all { candidates } else { candidates.min(self.limit.unwrap_or(usize::MAX)) }
    }
}
