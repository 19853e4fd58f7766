//! The part of a branch's task that other branches lack: its item, and its last answer if the group was played before.

use agent_kit::{AgentContext, Result};
use uwf_core::prompt::{BranchItem, item_part, own_answer_part};
use uwf_core::thread::BranchOutput;
use uwf_core::workflow::RoleGroup;
use uwf_engine::thread::message;

use super::plan::GroupPlan;

/// The part of the task of a branch, in addition to what all branches have. `group` is the context of the group's role. The last answer
/// takes about `bytes`.
///
/// # Errors
/// A node can't be read.
pub(super) fn branch_part(
    context: &AgentContext<'_>,
    (group, plan): (&RoleGroup, &GroupPlan),
    position: usize,
    bytes: usize,
) -> Result<String> {
    let branch = &plan.branches[position];
    let name = branch.name.as_str();
    let count = plan.items.len();
    let part = |item| item_part(&BranchItem { group: context.role_name(), name, position: position + 1, count, item });
    let mut part = plan.items.get(position).map(part).unwrap_or_default();
    // Items without keys are named by their positions, and another list has other items there.
    if group.each.is_some() && group.key.is_none() {
        return Ok(part);
    }
    if let Some((step, answer)) = last_answer(context, name)? {
        let roles = &context.thread().workflow()?.roles;
        let sees = roles.get(&branch.role).and_then(|role| role.more.sees.as_ref());
        let is_seen = sees.is_none_or(|sees| sees.iter().any(|seen| seen == context.role_name()));
        part.push_str(&own_answer_part(&answer, step, is_seen, bytes));
    }
    Ok(part)
}

/// The position of the newest step of a group, from 1, and what a branch of this name answered there; `None` if it had no such branch, or the
/// branch failed.
fn last_answer(context: &AgentContext<'_>, branch: &str) -> Result<Option<(usize, BranchOutput)>> {
    let (thread, chain) = (context.thread(), context.thread().chain()?);
    let Some(index) = chain.last_of(context.role_name()) else { return Ok(None) };
    let Some(record) = chain.get(index) else { return Ok(None) };
    let branches = message::branches_of(thread.home().store(), record.detail)?;
    let answer = branches.into_iter().find(|answer| answer.name == branch && answer.failure().is_none());
    Ok(answer.map(|answer| (index + 1, answer)))
}
