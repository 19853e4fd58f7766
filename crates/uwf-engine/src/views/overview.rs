//! Columns of a listing for people that need the thread's nodes, so they are read only for the rows that are shown.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::moderator::NextAction;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{END, Workflow};

use crate::attempt::recorded;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::state::ThreadState;
use crate::thread::{moderate, nodes};
use crate::views::list::{RowPlace, ThreadRow};

/// Summary of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadOverview {
    /// Its task; for a branch with an item, the item.
    pub task: String,
    /// Number of its steps; `None` if there are too many to count.
    pub steps: Option<usize>,
    /// Role that is running, waited for or next, or `$END`; `None` if unknown, or if the thread has ended.
    pub role: Option<String>,
    /// The parent thread, if this machine knows it.
    pub parent: Option<ThreadId>,
    /// Path of the branch that it is, if it is a branch of a group.
    pub branch: Option<String>,
}

/// Summarizes threads one by one, and reads each workflow once.
pub struct OverviewReader<'h> {
    home: &'h Home,
    workflows: HashMap<NodeHash, Option<Workflow>>,
}

impl<'h> OverviewReader<'h> {
    /// Summaries before anything is read.
    pub fn new(home: &'h Home) -> OverviewReader<'h> {
        OverviewReader { home, workflows: HashMap::new() }
    }

    /// Summary of a thread; `None` if its nodes are not readable.
    pub fn summarize(&mut self, row: &ThreadRow) -> Option<ThreadOverview> {
        let thread = Thread::load_at(self.home, row.thread.clone(), row.head).ok()?;
        let steps = chain::count(self.home, &thread.id, thread.last.is_some().then_some(thread.head)).ok()?;
        let RowPlace { parent, branch, item } = row.place().clone();
        let role = self.role(row.state, &thread, steps);
        // The task of a branch begins like the tasks of its siblings; only its item differs.
        let task = item.unwrap_or(thread.start.prompt);
        Some(ThreadOverview { task, steps, role, parent, branch })
    }

    fn role(&mut self, state: ThreadState, thread: &Thread<'_>, steps: Option<usize>) -> Option<String> {
        let marked = |mark| marks::get(self.home, &thread.id, mark).and_then(|reason| reason.role);
        match state {
            ThreadState::Running => recorded::read(self.home, &thread.id).ok()?.map(|attempt| attempt.opened.role),
            ThreadState::Waiting => marked(ThreadMark::Waiting),
            ThreadState::Limited => marked(ThreadMark::Limited),
            ThreadState::Stuck => marked(ThreadMark::Stuck),
            ThreadState::Active | ThreadState::Paused => {
                steps?;
                let hash = thread.start.workflow;
                let workflow =
                    self.workflows.entry(hash).or_insert_with(|| nodes::workflow(self.home.store(), hash).ok());
                let workflow = workflow.as_ref()?;
                // The branches of a group run at the same time, so none is next.
                if workflow.planned_branches().is_some() {
                    return None;
                }
                Some(match moderate::glance(thread, workflow)? {
                    NextAction::Role(role) => role,
                    NextAction::End(_) => END.to_owned(),
                })
            }
            ThreadState::Completed | ThreadState::Killed | ThreadState::Corrupt => None,
        }
    }
}
