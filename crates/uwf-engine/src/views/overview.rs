//! Columns of a listing for people that need the thread's nodes, so they are read only for the rows that are shown.

use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::views::list::{CurrentRoleReader, RowPlace, ThreadRow};

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
    roles: CurrentRoleReader<'h>,
}

impl<'h> OverviewReader<'h> {
    /// Summaries before anything is read.
    pub fn new(home: &'h Home) -> OverviewReader<'h> {
        OverviewReader { home, roles: CurrentRoleReader::new(home) }
    }

    /// Summary of a thread; `None` if its nodes are not readable.
    pub fn summarize(&mut self, row: &ThreadRow) -> Option<ThreadOverview> {
        let thread = Thread::load_at(self.home, row.thread.clone(), row.head).ok()?;
        let steps = chain::count(self.home, &thread.id, thread.last.is_some().then_some(thread.head)).ok()?;
        let RowPlace { parent, branch, item } = row.place().clone();
        let role = self.roles.role(row, &thread, steps);
        // The task of a branch begins like the tasks of its siblings; only its item differs.
        let task = item.unwrap_or(thread.start.prompt);
        Some(ThreadOverview { task, steps, role, parent, branch })
    }
}
