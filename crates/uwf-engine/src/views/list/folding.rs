//! The threads of groups in a listing for people: each is folded into the thread that plays the group, which has a list of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use super::family::FamilyReader;
use super::memory::READ_DIRECTLY;
use super::{ThreadFilter, ThreadRow};
use crate::attempt::child_threads::kinship::ThreadKin;
use crate::root::home::Home;
use crate::thread::state::ThreadState;
use crate::thread::{children, nodes};
use crate::views::branches;

/// A branch of a group that a thread is playing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedBranch {
    /// Its thread.
    pub thread: ThreadId,
    /// Its path, `GROUP.BRANCH`.
    pub path: Option<String>,
    /// Its state; `None` if it has ended.
    pub state: Option<ThreadState>,
}

/// Number of branches of the groups that a thread is playing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchCounts {
    /// Branches that have not ended, by state.
    pub active: BTreeMap<ThreadState, usize>,
    /// Branches that have ended.
    pub ended: usize,
}

impl BranchCounts {
    /// The number of these branches in each state.
    #[must_use]
    pub fn count(branches: &[PlayedBranch]) -> BranchCounts {
        let mut counts = BranchCounts::default();
        for branch in branches {
            match branch.state {
                Some(state) => *counts.active.entry(state).or_default() += 1,
                None => counts.ended += 1,
            }
        }
        counts
    }
}

/// The threads of groups among the listed threads.
pub(super) struct BranchFolds<'h> {
    home: &'h Home,
    /// States of all threads, as far as the listing knows them.
    states: HashMap<ThreadId, ThreadState>,
    listed: HashSet<ThreadId>,
    /// Whether branches are folded even if their player is not listed.
    folds_all: bool,
    /// Child threads that this machine has not recorded, by parent.
    unrecorded: HashMap<ThreadId, Vec<(ThreadId, bool)>>,
    /// Number of rows in the list of each state.
    shown: BTreeMap<ThreadState, usize>,
    /// Threads with folded rows.
    players: HashSet<ThreadId>,
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
        let folds_all = !filter.outcomes.is_empty();
        let (unrecorded, shown, players) = (HashMap::new(), BTreeMap::new(), HashSet::new());
        BranchFolds { home, states, listed, folds_all, unrecorded, shown, players }
    }

    /// Whether a thread belongs to a group, and the thread that plays the group is listed. If a group plays another one, the outermost
    /// counts.
    pub(super) fn folds(&mut self, row: &ThreadRow, family: &mut FamilyReader<'_>) -> bool {
        let (mut player, is_ended) = (None, row.is_finished());
        if row.is_child {
            self.note(row, family);
            let folds = |player: &ThreadId| {
                self.folds_all || self.listed.contains(player) || (is_ended && self.states.contains_key(player))
            };
            player = self.player(row, family).filter(folds);
        }
        // The list of its state has the row if it does not have the player. What a branch ended with is a part of its player's run.
        let has_own_row =
            |player: &ThreadId| !self.folds_all && !is_ended && self.states.get(player) != Some(&row.state);
        if player.as_ref().is_none_or(has_own_row) {
            *self.shown.entry(row.state).or_default() += 1;
        }
        let is_folded = player.is_some();
        self.players.extend(player);
        is_folded
    }

    /// Whether a thread may be playing branches. A long list trusts its own rows, because looking for child threads reads a directory.
    pub(super) fn may_play(&self, thread: &ThreadId, rows: usize) -> bool {
        rows <= READ_DIRECTLY || self.players.contains(thread)
    }

    /// Number of rows in the list of each state, of the rows so far.
    pub(super) fn shown(self) -> BTreeMap<ThreadState, usize> {
        self.shown
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

    /// The child threads of a thread, and whether each is a branch. Branches have the order of their group. An unreadable directory leaves out
    /// threads.
    fn children(&self, thread: &ThreadId) -> Vec<(ThreadId, bool)> {
        let branch = |child: &ThreadId| ThreadKin::recorded(self.home, child).and_then(|kin| kin.branch);
        let recorded = children::known(self.home, thread).unwrap_or_default().into_iter();
        let mut recorded: Vec<(Option<usize>, ThreadId, bool)> = recorded
            .map(|child| match branch(&child) {
                Some(branch) => (branch.position, child, true),
                None => (None, child, false),
            })
            .collect();
        recorded.sort_by_key(|(position, ..)| *position);
        let recorded = recorded.into_iter().map(|(_, child, is_branch)| (child, is_branch));
        recorded.chain(self.unrecorded.get(thread).into_iter().flatten().cloned()).collect()
    }

    /// The branches that a listed thread is playing, in the order of their groups. A branch that plays branches itself stands for them.
    pub(super) fn branches(&self, thread: &ThreadId, family: &mut FamilyReader<'_>) -> Vec<PlayedBranch> {
        let mut found = Vec::new();
        self.add_below(thread, MAX_GENERATIONS, &mut found);
        let branch = |thread: ThreadId| {
            let kin = family.kinship(&thread, None).cloned();
            let path = kin.and_then(|kin| branches::path_of(&kin, &mut |id| family.kinship(id, None).cloned()));
            PlayedBranch { path, state: self.active(&thread), thread }
        };
        found.into_iter().map(branch).collect()
    }

    /// The state of a thread that has not ended.
    fn active(&self, thread: &ThreadId) -> Option<ThreadState> {
        let has_ended = |state: &ThreadState| matches!(state, ThreadState::Completed | ThreadState::Killed);
        self.states.get(thread).copied().filter(|state| !has_ended(state))
    }

    fn add_below(&self, thread: &ThreadId, generations: usize, found: &mut Vec<ThreadId>) {
        for (child, _) in self.children(thread) {
            if self.active(&child).is_none() || generations == 0 {
                continue;
            }
            for (branch, _) in self.children(&child).into_iter().filter(|(_, is_branch)| *is_branch) {
                self.add_branch(branch, generations - 1, found);
            }
        }
    }

    fn add_branch(&self, branch: ThreadId, generations: usize, found: &mut Vec<ThreadId>) {
        let before = found.len();
        if self.active(&branch).is_some() {
            self.add_below(&branch, generations, found);
            // The groups of a workflow that plays the branch.
            for (child, _) in self.children(&branch) {
                if generations > 0 && self.active(&child).is_some() {
                    self.add_below(&child, generations - 1, found);
                }
            }
        }
        if found.len() == before {
            found.push(branch);
        }
    }
}
