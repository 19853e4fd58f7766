//! Use of workflows: the number of their threads, by state.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use maud::{Markup, html};
use uwf_core::outcome::SUCCEEDED;
use uwf_engine::root::home::Home;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::{self, ThreadFilter};

use crate::failure::HttpFailure;
use crate::pages::parts;
use crate::url::encoded;

/// Threads of a workflow.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkflowThreadCounts {
    running: usize,
    /// Threads that have neither ended nor are running.
    open: usize,
    ended: usize,
    /// Ended threads that were not killed.
    completed: usize,
    /// Completed threads with the outcome `succeeded`.
    succeeded: usize,
    /// Time of the last change of any of them, in Unix milliseconds.
    last: Option<u64>,
}

impl WorkflowThreadCounts {
    fn and(self, other: WorkflowThreadCounts) -> WorkflowThreadCounts {
        WorkflowThreadCounts {
            running: self.running + other.running,
            open: self.open + other.open,
            ended: self.ended + other.ended,
            completed: self.completed + other.completed,
            succeeded: self.succeeded + other.succeeded,
            last: self.last.max(other.last),
        }
    }

    /// The counts that are not 0. If the workflow has a name, each links to its threads.
    pub(super) fn words(&self, name: Option<&str>) -> Markup {
        let counts = [
            (self.running, "running", "state=running"),
            (self.open, "open", "state=active,waiting,limited,stuck,paused"),
            (self.ended, "ended", "state=completed,killed"),
        ];
        let counts: Vec<_> = counts.into_iter().filter(|(count, ..)| *count > 0).collect();
        html! {
            span {
                @if counts.is_empty() { span.quiet { "none yet" } }
                @for (at, (count, word, filter)) in counts.into_iter().enumerate() {
                    @if at > 0 { span.quiet { " · " } }
                    @match name {
                        Some(name) => a href={ "/threads?workflow=" (encoded(name)) "&" (filter) } { (count) " " (word) },
                        None => { (count) " " (word) },
                    }
                }
            }
        }
    }

    /// The share of completed threads that succeeded.
    pub(super) fn success(&self) -> Markup {
        html! {
            @if self.completed > 0 { (parts::percent(self.succeeded, self.completed)) " %" } @else { span.quiet { "–" } }
        }
    }

    /// When it was last used.
    pub(super) fn last(&self) -> Markup {
        html! { @match self.last { Some(last) => (parts::ago(last)), None => span.quiet { "never" } } }
    }
}

/// Use of all workflows.
pub(super) struct UsedWorkflows(BTreeMap<NodeHash, WorkflowUse>);

/// Use of one workflow.
#[derive(Default)]
struct WorkflowUse {
    counts: WorkflowThreadCounts,
    /// Whether it was counted with a name.
    is_taken: bool,
    /// Whether a thread was started with it. The others are parts of workflows: groups and their branches.
    is_whole: bool,
}

impl UsedWorkflows {
    /// Counts all threads.
    pub(super) fn count_threads(home: &Home) -> Result<UsedWorkflows, HttpFailure> {
        let mut used: BTreeMap<NodeHash, WorkflowUse> = BTreeMap::new();
        for row in list::list(home, &ThreadFilter { all: true, ..ThreadFilter::default() })?.rows {
            let Some(workflow) = row.workflow else { continue };
            let (running, open, ended) = match row.state {
                ThreadState::Running => (1, 0, 0),
                ThreadState::Completed | ThreadState::Killed => (0, 0, 1),
                ThreadState::Active
                | ThreadState::Waiting
                | ThreadState::Limited
                | ThreadState::Stuck
                | ThreadState::Paused
                | ThreadState::Corrupt => (0, 1, 0),
            };
            let known = used.entry(workflow).or_default();
            known.is_whole |= !row.is_child();
            let succeeded = usize::from(row.outcome.as_deref() == Some(SUCCEEDED));
            let completed = usize::from(row.state == ThreadState::Completed);
            let counts = WorkflowThreadCounts { running, open, ended, completed, succeeded, last: row.changed_at };
            known.counts = known.counts.and(counts);
        }
        Ok(UsedWorkflows(used))
    }

    /// Takes the threads of these versions of a workflow together.
    pub(super) fn take(&mut self, versions: impl IntoIterator<Item = NodeHash>) -> WorkflowThreadCounts {
        let mut sum = WorkflowThreadCounts::default();
        let versions: std::collections::BTreeSet<NodeHash> = versions.into_iter().collect();
        for version in versions {
            if let Some(used) = self.0.get_mut(&version) {
                used.is_taken = true;
                sum = sum.and(used.counts);
            }
        }
        sum
    }

    /// Whole workflows that were not taken, the last used first.
    pub(super) fn into_rest(self) -> Vec<(NodeHash, WorkflowThreadCounts)> {
        let rest = self.0.into_iter().filter(|(_, used)| used.is_whole && !used.is_taken);
        let mut rest: Vec<(NodeHash, WorkflowThreadCounts)> = rest.map(|(hash, used)| (hash, used.counts)).collect();
        rest.sort_by_key(|(_, used)| std::cmp::Reverse(used.last));
        rest
    }
}
