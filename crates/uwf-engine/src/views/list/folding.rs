//! The threads of groups in a listing for people: each is folded into the thread that plays the group, which has their counts.

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use super::family::FamilyReader;
use super::{ThreadFilter, ThreadRow};
use crate::attempt::child_threads::kinship::ThreadKin;
use crate::root::home::Home;
use crate::thread::state::ThreadState;
use crate::thread::{children, nodes};

/// Number of branches of the groups that a thread is playing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchCounts {
    /// Branches that have not ended, by state.
    pub active: BTreeMap<ThreadState, usize>,
    /// Branches that have ended.
    pub ended: usize,
}

impl BranchCounts {
    /// Whether the thread is playing no branch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.ended == 0
    }

    fn merge(&mut self, other: &BranchCounts) {
        other.active.iter().for_each(|(state, count)| *self.active.entry(*state).or_default() += count);
        self.ended += other.ended;
    }
}

/// The threads of groups among the listed threads.
pub(super) struct BranchFolds<'h> {
    home: &'h Home,
    /// States of the active threads.
    states: HashMap<ThreadId, ThreadState>,
    listed: HashSet<ThreadId>,
    /// Whether branches are folded even if their player is not listed.
    folds_all: bool,
    /// Child threads that this machine has not recorded, by parent.
    unrecorded: HashMap<ThreadId, Vec<(ThreadId, bool)>>,
}

impl<'h> BranchFolds<'h> {
    pub(super) fn new(
        home: &'h Home,
        filter: &ThreadFilter,
        states: HashMap<ThreadId, ThreadState>,
        listed: &[ThreadRow],
    ) -> BranchFolds<'h> {
        let listed = listed.iter().map(|row| row.thread.clone()).collect();
        // A run has the outcome of its own thread, whatever its branches ended with.
        BranchFolds { home, states, listed, folds_all: !filter.outcomes.is_empty(), unrecorded: HashMap::new() }
    }

    /// Whether a thread belongs to a group, and the thread that plays the group is listed. If a group plays another one, the outermost
    /// counts.
    pub(super) fn folds(&mut self, row: &ThreadRow, family: &mut FamilyReader<'_>) -> bool {
        if !row.is_child {
            return false;
        }
        self.note(row, family);
        let is_listed = |player| self.folds_all || self.listed.contains(&player);
        self.player(row, family).is_some_and(is_listed)
    }

    /// Notes a child thread that its parent's directory on this machine lacks.
    fn note(&mut self, row: &ThreadRow, family: &mut FamilyReader<'_>) {
        let Some(kinship) = family.kinship(&row.thread, Some(row.head)) else { return };
        if let Some(parent) = &kinship.parent
            && !self.home.children_dir(parent).join(row.thread.as_str()).exists()
        {
            let child = (row.thread.clone(), kinship.branch.is_some());
            self.unrecorded.entry(parent.clone()).or_default().push(child);
        }
    }

    /// The thread that plays the outermost group that a thread belongs to.
    fn player(&self, row: &ThreadRow, family: &mut FamilyReader<'_>) -> Option<ThreadId> {
        let mut at = family.kinship(&row.thread, Some(row.head))?.clone();
        let workflow = row.workflow.and_then(|hash| nodes::workflow(self.home.store(), hash).ok());
        let is_group = workflow.is_some_and(|workflow| workflow.planned_branches().is_some());
        let mut player = at.parent.clone().filter(|_| is_group);
        for _ in 0..MAX_GENERATIONS {
            let Some(above) = at.parent.take() else { break };
            let is_branch = at.branch.is_some();
            let Some(next) = family.kinship(&above, None).cloned() else { break };
            if is_branch {
                player = next.parent.clone().or(player);
            }
            at = next;
        }
        player
    }

    /// The child threads of a thread, and whether each is a branch. An unreadable directory leaves out a number.
    fn children(&self, thread: &ThreadId) -> Vec<(ThreadId, bool)> {
        let recorded = children::known(self.home, thread).unwrap_or_default().into_iter().map(|child| {
            let is_branch = ThreadKin::recorded(self.home, &child).is_some_and(|kinship| kinship.branch.is_some());
            (child, is_branch)
        });
        recorded.chain(self.unrecorded.get(thread).into_iter().flatten().cloned()).collect()
    }

    /// The branches that a listed thread is playing. A branch that plays branches itself counts as them.
    pub(super) fn counts(&self, thread: &ThreadId) -> BranchCounts {
        self.counts_below(thread, MAX_GENERATIONS)
    }

    fn counts_below(&self, thread: &ThreadId, generations: usize) -> BranchCounts {
        let mut counts = BranchCounts::default();
        for (child, _) in self.children(thread) {
            if !self.states.contains_key(&child) || generations == 0 {
                continue;
            }
            for (branch, _) in self.children(&child).into_iter().filter(|(_, is_branch)| *is_branch) {
                counts.merge(&self.of_branch(&branch, generations - 1));
            }
        }
        counts
    }

    fn of_branch(&self, branch: &ThreadId, generations: usize) -> BranchCounts {
        let Some(state) = self.states.get(branch) else { return BranchCounts { ended: 1, ..BranchCounts::default() } };
        let mut below = self.counts_below(branch, generations);
        // The groups of a workflow that plays the branch.
        for (child, _) in self.children(branch) {
            if generations > 0 && self.states.contains_key(&child) {
                below.merge(&self.counts_below(&child, generations - 1));
            }
        }
        if below.is_empty() {
            below.active.insert(*state, 1);
        }
        below
    }
}
