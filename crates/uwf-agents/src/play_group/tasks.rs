//! The tasks of the branches of a group that has not begun, for a dry run.

use agent_kit::{AgentContext, Result};
use uwf_core::text::one_line;
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::root::project;
use uwf_engine::thread::load::Thread;

use super::plan::GroupPlan;
use super::{group_of, task_part};
use crate::workflow::BRIEF_SHARE;

/// The task of each branch that a group would begin with.
///
/// # Errors
/// As for playing the group, before its first branch begins.
pub(crate) fn tasks(context: &AgentContext<'_>, opened: &AttemptOpening) -> Result<String> {
    let (thread, name) = (context.thread(), context.role_name());
    let (group, workflow) = (group_of(context)?, thread.workflow()?);
    let most = project::config_here(thread.home())?.limits.max_branches;
    let plan = GroupPlan::new(thread, &workflow, (name, &group), most)?;
    let mut text = match plan.branches.len() {
        0 => format!("Group `{name}` has no branches.\n"),
        count => format!("Group `{name}` plays {count} branches, at most {} at the same time.\n", group.max()),
    };
    for (position, branch) in plan.branches.iter().enumerate() {
        let seen = Thread::load_at(thread.home(), thread.id.clone(), thread.head)?;
        let role = AgentContext::for_role(seen, &branch.role, None)?;
        let task = role.branch_brief(&task_part(&plan, position), opened.prompt_budget / BRIEF_SHARE)?;
        let name = one_line(&branch.name);
        text.push_str(&format!(
            "\n==== branch `{name}`: the task of role `{}` ====\n\n{}\n",
            branch.role,
            task.trim_end()
        ));
    }
    Ok(text)
}
