//! Lets a role resolve the conflicts of a merge, in the worktree of the thread.

use agent_kit::Result;
use uwf_core::node::EndStatus;
use uwf_core::prompt::merge_conflict_part;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::PlannedBranch;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::bindings::AgentBindings;
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::end_group::{BranchResult, EndedBranch};
use uwf_engine::verbs::group_files::MergeConflict;
use uwf_engine::verbs::start_child;

use super::plan::GroupPlan;
use super::results::BranchErrors;
use super::{BranchTask, GroupAttempt, no_role, window};
use crate::workflow;

impl GroupAttempt<'_, '_> {
    /// Lets the role that resolves conflicts merge a branch. Returns false if the group names none. A role that has ended without a merge is
    /// not played again, so a person must merge then.
    pub(super) fn resolve(&self, group: &Thread<'_>, plan: &GroupPlan, conflict: &MergeConflict) -> Result<bool> {
        let Some(branch) = self.resolver(plan, &conflict.branch) else { return Ok(false) };
        let part = merge_conflict_part(&conflict.branch, &conflict.git_branch, &conflict.files);
        let task = BranchTask {
            item: None,
            part: &part,
            sees_as: &branch.role,
            bound: AgentBindings::default(),
            has_files: false,
        };
        let workflow = || self.workflow.branch(&branch.role).ok_or_else(|| no_role(&branch.role));
        let played = match self.start(group, &branch, task, workflow)? {
            Child::Ended(ended) => Ok(ended),
            Child::Active(thread) => SignalListener::listen()
                .and_then(|mut signals| workflow::drive_branch(group.home(), &branch.name, &thread, &mut signals)),
        };
        let parent = &self.context.thread().id;
        let ended = played.and_then(window::not_killed);
        ended.map(|_| true).map_err(|error| BranchErrors::only(&branch.name, error).into_error(parent))
    }

    /// The branches of the role that resolved conflicts, in the order of the branches whose changes they merged.
    pub(super) fn resolved(&self, group: &Thread<'_>, plan: &GroupPlan) -> Result<Vec<EndedBranch>> {
        let mut resolved = Vec::new();
        for branch in plan.branches.iter().filter_map(|branch| self.resolver(plan, &branch.name)) {
            if let Some(Child::Ended(ended)) = start_child::find_child(group, &branch.name)?
                && ended.status == EndStatus::Completed
            {
                resolved.push(EndedBranch { name: branch.name, result: BranchResult::Step(ended.head) });
            }
        }
        Ok(resolved)
    }

    /// The branch that merges another branch; `None` if no role resolves conflicts, or if a branch of the group has its name.
    fn resolver(&self, plan: &GroupPlan, branch: &str) -> Option<PlannedBranch> {
        let role = self.group.resolve.clone()?;
        let name = format!("{role}-{branch}");
        let is_free = plan.branches.iter().all(|planned| planned.name != name);
        is_free.then_some(PlannedBranch { name, role, may_fail: false, limits: ThreadLimits::default() })
    }
}
