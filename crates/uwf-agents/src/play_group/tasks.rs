//! The prompts of the branches of a group that has not begun, for a dry run.

use agent_kit::{AgentContext, Result};
use uwf_core::text::one_line;
use uwf_core::workflow::{PlannedBranch, RoleGroup};
use uwf_engine::attempt::bindings::AgentReference;
use uwf_engine::attempt::plan::StepPlan;
use uwf_engine::attempt::recorded::{AttemptOpening, RecordedAttempt};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::root::project;
use uwf_engine::thread::load::Thread;

use super::parts::branch_part;
use super::plan::GroupPlan;
use super::{OWN_ANSWER_SHARE, group_of};
use crate::workflow::BRIEF_SHARE;
use crate::{AgentInput, sent};

/// The prompt of each branch that a group begins with.
///
/// # Errors
/// As for playing the group, before its first branch begins; the errors of the agents' settings.
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
        let part = branch_part(context, (&group, &plan), position, opened.prompt_budget / OWN_ANSWER_SHARE)?;
        let task = role.branch_brief(&part, opened.prompt_budget / BRIEF_SHARE)?;
        let (what, shown) = match role.role().more.play {
            // Its own branches have prompts once it has begun.
            Some(_) => ("task", task),
            None => ("prompt", prompt(context, (&group, branch), position, task)?),
        };
        let name = one_line(&branch.name);
        text.push_str(&format!(
            "\n==== branch `{name}`: the {what} of role `{}` ====\n\n{}\n",
            branch.role,
            shown.trim_end()
        ));
    }
    Ok(text)
}

/// The prompt of a branch's first step, after the system message if there is one.
fn prompt(
    context: &AgentContext<'_>,
    (group, branch): (&RoleGroup, &PlannedBranch),
    position: usize,
    task: String,
) -> Result<String> {
    let thread = context.thread();
    // A dry run may name the directory of a thread that this machine does not know.
    let is_known = ThreadSettings::load(thread.home(), &thread.id)?.is_some();
    let plan = StepPlan::load(thread, Some(&context.opened()?.workspace).filter(|_| !is_known))?;
    let of_copy = || plan.config.agent_of_copy(context.workflow_name(), context.role_name(), position);
    let copy = group.copies.and_then(|_| of_copy()).map(AgentReference::plain);
    let before = thread.branch_before_start(task);
    let attempt = plan.attempt(&before, &branch.role, plan.agent(&branch.role, copy.as_ref())?)?;
    let sent = sent(&AgentContext::for_role(before, &branch.role, Some(RecordedAttempt::begun(attempt)))?)?;
    let AgentInput { system, prompt, .. } = sent;
    Ok(system.map_or_else(|| prompt.clone(), |system| format!("System message:\n\n{system}\n\n{prompt}")))
}
