//! The branches of groups that have a step in their group's thread.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::config::DEFAULT_CURRENCY;
use uwf_core::node::NodeKind;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::{BranchOutput, ThreadId};
use uwf_core::workflow::RoleGroup;

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::{children, message, nodes, runs, usage};

/// Finds the outcome of the workflow that played a branch, by the last step of the branch.
pub(crate) type OutcomeReader = dyn Fn(&Home, NodeHash) -> Result<Option<String>>;

/// A branch that has a step in its group's thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkedBranch {
    /// Its name in the group.
    pub(crate) name: String,
    /// Its output.
    pub(crate) output: Value,
    /// How it ended.
    pub(crate) end: BranchEnd,
    /// Its step.
    pub(crate) step: NodeHash,
    /// When its step was stored, in Unix milliseconds.
    pub(crate) linked_at: u64,
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BranchEnd {
    /// With this last step of its own thread.
    Step(NodeHash),
    /// The group continued without it, for this reason.
    Failed(String),
}

/// The branches that have a step in a group's thread, in the order of the group.
pub(crate) fn linked(group: &Thread<'_>) -> Result<Vec<LinkedBranch>> {
    let store = group.home().store();
    // Further steps are of roles that resolved conflicts, and of a person who picked a copy.
    let planned = group.workflow()?.planned_branches().map_or(usize::MAX, |planned| planned.len());
    let mut branches = Vec::new();
    for record in group.chain()?.records().iter().take(planned) {
        let (step, linked_at) = nodes::step_node(store, record.step)?;
        let output = nodes::get(store, step.output)?.payload;
        let is_step = NodeKind::from_type_hash(nodes::get(store, step.detail)?.type_hash) == Some(NodeKind::StepNode);
        let output = BranchOutput { name: step.role, output, message: None };
        let end = match is_step {
            true => BranchEnd::Step(step.detail),
            false => BranchEnd::Failed(output.failure().unwrap_or("the reason is unknown").to_owned()),
        };
        branches.push(LinkedBranch { name: output.name, output: output.output, end, step: record.step, linked_at });
    }
    Ok(branches)
}

/// The branches of the newest step of each group of a thread, for conditions: role → a list of
/// `{name, role, thread, agent, output, item, failed, outcome, usage: {tokens, cost, seconds}}`. `thread` is `null` where this machine does not
/// know the thread of the group.
pub(crate) fn of_groups(thread: &Thread<'_>, outcome: &OutcomeReader) -> Result<BTreeMap<String, Value>> {
    let (workflow, chain) = (thread.workflow()?, thread.chain()?);
    let mut groups = BTreeMap::new();
    for (name, play) in workflow.groups() {
        if let Some(last) = chain.last_of(name)
            && let Some(record) = chain.get(last)
        {
            let known = known_thread(thread, last, name, record.detail)?;
            groups.insert(name.to_owned(), of_detail(thread, record.detail, (play, known.as_ref()), outcome)?);
        }
    }
    Ok(groups)
}

/// The thread of the group that is a role of step `index`; `None` if this machine does not know it, or if the step is from the thread that
/// this one was forked from.
fn known_thread<'h>(thread: &Thread<'h>, index: usize, role: &str, last: NodeHash) -> Result<Option<Thread<'h>>> {
    let found = children::find(thread.home(), &children::id_for(&thread.as_of(index)?, role))?;
    found.map(|found| Thread::load_at(thread.home(), found.id, last)).transpose()
}

/// The thread of a branch. A role that picks a copy begins after the copies, other branches begin before their group has a step.
fn branch_thread(group: &Thread<'_>, play: &RoleGroup, index: usize, name: &str) -> Result<ThreadId> {
    let is_judge = play.copies.is_some_and(|copies| index as u64 >= copies);
    Ok(children::id_for(&group.as_of(if is_judge { index } else { 0 })?, name))
}

fn of_detail(
    thread: &Thread<'_>,
    detail: NodeHash,
    (play, known): (&RoleGroup, Option<&Thread<'_>>),
    outcome: &OutcomeReader,
) -> Result<Value> {
    if !message::is_group(thread.home().store(), detail)? {
        return Ok(Value::Array(Vec::new()));
    }
    let group = Thread::without_id(thread.home(), detail)?;
    let planned = group.workflow()?.planned_branches().unwrap_or_default();
    let items: Vec<Value> = serde_json::from_str(&group.start.prompt).unwrap_or_default();
    let mut branches = Vec::new();
    for (index, LinkedBranch { name, output, end, step: linked_step, .. }) in linked(&group)?.into_iter().enumerate() {
        let role = planned.get(index).map(|planned| planned.role.as_str());
        let usage = usage_of(&usage::spent(thread.home().store(), linked_step)?);
        // A step of another thread, from which this one was forked, does not say which thread played it.
        let own = known.map(|group| branch_thread(group, play, index, &name)).transpose()?;
        let mut branch = json!({ "name": name, "role": role, "thread": own, "output": output, "usage": usage });
        match end {
            BranchEnd::Failed(why) => {
                branch["failed"] = why.into();
                if let Some(agent) = runs::agent_of_failed_branch(thread.home().store(), linked_step)? {
                    branch["agent"] = agent.into();
                }
            }
            BranchEnd::Step(step) => {
                branch["agent"] = nodes::step_node(thread.home().store(), step)?.0.agent.into();
                if let Some(outcome) = outcome(thread.home(), step)? {
                    branch["outcome"] = outcome.into();
                }
            }
        }
        if let Some(item) = items.get(index) {
            branch["item"] = item.clone();
        }
        branches.push(branch);
    }
    Ok(Value::Array(branches))
}

/// The usage of a branch. A missing number is unknown: in JSONata, `null` would be a value.
fn usage_of(spent: &SpendingTotals) -> Value {
    let mut usage = json!({});
    // The time of a failed attempt is known only by its turns.
    if spent.steps > 0 || spent.duration_ms > 0 {
        usage["seconds"] = (spent.duration_ms as f64 / 1000.0).into();
    }
    if spent.are_tokens_whole() {
        usage["tokens"] = spent.tokens.total().into();
    }
    if spent.is_cost_whole() {
        usage["cost"] = spent.by_currency().get(DEFAULT_CURRENCY).copied().unwrap_or_default().into();
    }
    usage
}
