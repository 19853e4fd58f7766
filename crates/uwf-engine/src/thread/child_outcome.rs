//! The outcomes of the child threads that played roles, for conditions.

use json_cas::Hash;
use uwf_core::node::NodeKind;
use uwf_core::outcome::SUCCEEDED;

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::{moderate, nodes};

/// The outcome of the child thread that a step has as its detail: its moderator decides again about its last step. A group has the outcome
/// of its first branch that a workflow ended in another way than `succeeded`. `None` if no child thread played the role.
///
/// # Errors
/// Errors of the nodes and the conditions.
pub(crate) fn of_detail(home: &Home, detail: Hash) -> Result<Option<String>> {
    if NodeKind::of(nodes::get(home.store(), detail)?.type_hash) != Some(NodeKind::StepNode) {
        return Ok(None);
    }
    let child = Thread::without_id(home, detail)?;
    let workflow = child.workflow()?;
    if workflow.planned_branches().is_none() {
        return Ok(moderate::next(&child, &workflow)?.outcome().map(str::to_owned));
    }
    for record in child.chain()?.records() {
        let other = of_branch(home, record.detail)?.filter(|outcome| outcome != SUCCEEDED);
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(Some(SUCCEEDED.to_owned()))
}

/// The outcome of the workflow or group that played a branch whose result is `step`. `None` if an agent played it, or if it failed.
///
/// # Errors
/// Errors of the nodes and the conditions.
pub(crate) fn of_branch(home: &Home, step: Hash) -> Result<Option<String>> {
    if NodeKind::of(nodes::get(home.store(), step)?.type_hash) != Some(NodeKind::StepNode) {
        return Ok(None);
    }
    of_detail(home, nodes::step_node(home.store(), step)?.0.detail)
}
