//! Lets a role resolve the conflicts of a merge, in the worktree of the thread.

use agent_kit::Result;
use serde_json::Value;
use uwf_core::node::EndStatus;
use uwf_core::prompt::{conflict_markers_part, merge_conflict_part};
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::PlannedBranch;
use uwf_engine::attempt::bindings::AgentBindings;
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::end_group::{BranchResult, EndedBranch};
use uwf_engine::verbs::group_files::{FIRST_ROUND, MergeConflict, ROUNDS};
use uwf_engine::verbs::start_child;

use super::plan::{GroupPlan, is_free};
use super::results::BranchErrors;
use super::{BranchTask, GroupAttempt, no_role, window};

impl GroupAttempt<'_, '_> {
    /// Lets the role that resolves conflicts merge a branch, or remove the conflict markers that it left in the round before. A role that has
    /// ended its round is not played again in it.
    pub(super) fn resolve(&self, group: &Thread<'_>, plan: &GroupPlan, conflict: &MergeConflict) -> Result<()> {
        let Some(branch) = self.resolver(plan, &conflict.branch, conflict.round) else { return Ok(()) };
        let part = match conflict.round {
            FIRST_ROUND => merge_conflict_part(&conflict.branch, &conflict.git_branch, &conflict.files),
            _ => conflict_markers_part(&conflict.branch, &conflict.git_branch, &conflict.files),
        };
        let merged = plan.branches.iter().position(|branch| branch.name == conflict.branch).unwrap_or_default();
        let git_branch = Value::from(conflict.git_branch.as_str());
        let round = conflict.round.saturating_sub(FIRST_ROUND) as usize;
        let task = BranchTask {
            position: plan.branches.len() + merged * ROUNDS.len() + round,
            // A command has no prompt.
            item: Some(&git_branch),
            part: &part,
            sees_as: &branch.role,
            bound: AgentBindings::default(),
            has_files: false,
        };
        let workflow = || self.workflow.branch(&branch.role).ok_or_else(|| no_role(&branch.role));
        let begun = self.start(group, &branch, task, workflow)?;
        let played = window::play_one(group.home(), &branch.name, begun, &self.signals, None).map(drop);
        let thread = start_child::child_id(group, &branch.name);
        played.map_err(|error| {
            BranchErrors::only(self.group_path(), &branch.name, &thread, error).into_error(&self.context.thread().id)
        })
    }

    /// The branches of the role that resolved conflicts, in the order of the branches whose changes they merged.
    pub(super) fn resolved(&self, group: &Thread<'_>, plan: &GroupPlan) -> Result<Vec<EndedBranch>> {
        let mut resolved = Vec::new();
        let rounds = plan.branches.iter().flat_map(|branch| ROUNDS.map(|round| (branch, round)));
        for branch in rounds.filter_map(|(branch, round)| self.resolver(plan, &branch.name, round)) {
            if let Some(Child::Ended(ended)) = start_child::find_child(group, &branch.name)?
                && ended.status == EndStatus::Completed
            {
                resolved.push(EndedBranch { name: branch.name, result: BranchResult::Step(ended.head) });
            }
        }
        Ok(resolved)
    }

    /// The branch that merges another branch; `None` if no role resolves conflicts.
    fn resolver(&self, plan: &GroupPlan, branch: &str, round: u32) -> Option<PlannedBranch> {
        let role = self.group.resolve.clone()?;
        let name = match round {
            FIRST_ROUND => format!("{role}-{branch}"),
            _ => format!("{role}-{branch}-{round}"),
        };
        // A branch can have this name, or the first round for a branch with a number at its end.
        let is_first_of_other = round != FIRST_ROUND && !is_free(&plan.branches, &format!("{branch}-{round}"));
        let name = match is_free(&plan.branches, &name) && !is_first_of_other {
            true => name,
            // Neither a role nor the key of an item begins with `$`.
            false => format!("${role}-{branch}-{round}"),
        };
        Some(PlannedBranch { name, role, may_fail: false, limits: ThreadLimits::default() })
    }
}
