//! Columns of a listing for people that need the thread's nodes, so they are read only for the rows that are shown.

use std::collections::HashMap;

use json_cas::Hash;
use uwf_core::moderator::Next;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{END, Workflow};

use crate::attempt::recorded;
use crate::attempt::settings::Settings;
use crate::root::home::Home;
use crate::root::marks::{self, Mark};
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::state::State;
use crate::thread::{moderate, nodes};
use crate::views::branches;
use crate::views::list::Row;

/// Summary of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
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
pub struct Overviews<'h> {
    home: &'h Home,
    workflows: HashMap<Hash, Option<Workflow>>,
}

impl<'h> Overviews<'h> {
    /// Summaries before anything is read.
    pub fn new(home: &'h Home) -> Overviews<'h> {
        Overviews { home, workflows: HashMap::new() }
    }

    /// Summary of a thread; `None` if its nodes are not readable.
    pub fn of(&mut self, row: &Row) -> Option<Overview> {
        let thread = Thread::at(self.home, row.thread.clone(), row.head).ok()?;
        let steps = chain::count(self.home, &thread.id, thread.last.is_some().then_some(thread.head)).ok()?;
        let settings = thread.start.parent.and_then(|_| Settings::load(self.home, &thread.id).ok().flatten());
        let branch = settings.as_ref().and_then(|settings| branches::path_in(self.home, settings));
        // The task of a branch begins like the tasks of its siblings; only its item differs.
        let branch_item = settings.as_ref().and_then(|settings| settings.branch.as_ref()?.item.as_ref());
        let branch_item = branch_item.map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
        let parent = settings.and_then(|settings| settings.parent);
        let role = self.role(row.state, &thread, steps);
        let task = branch_item.unwrap_or(thread.start.prompt);
        Some(Overview { task, steps, role, parent, branch })
    }

    fn role(&mut self, state: State, thread: &Thread<'_>, steps: Option<usize>) -> Option<String> {
        let marked = |mark| marks::get(self.home, &thread.id, mark).and_then(|reason| reason.role);
        match state {
            State::Running => recorded::read(self.home, &thread.id).ok()?.map(|attempt| attempt.opened.role),
            State::Waiting => marked(Mark::Waiting),
            State::Limited => marked(Mark::Limited),
            State::Stuck => marked(Mark::Stuck),
            State::Active | State::Paused => {
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
                    Next::Role(role) => role,
                    Next::End(_) => END.to_owned(),
                })
            }
            State::Completed | State::Killed | State::Corrupt => None,
        }
    }
}
