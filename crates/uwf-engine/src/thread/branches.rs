//! The branches of groups, for conditions.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::thread::BranchOutput;

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::{message, nodes, usage};

/// Finds the outcome of the workflow that played a branch, by the last step of the branch.
pub(crate) type OutcomeReader = dyn Fn(&Home, NodeHash) -> Result<Option<String>>;

/// The branches of the newest step of each group of a thread: role → a list of
/// `{name, role, agent, output, item, failed, outcome, usage: {tokens, cost, seconds}}`.
///
/// # Errors
/// Errors of the nodes.
pub(crate) fn of_groups(thread: &Thread<'_>, outcome: &OutcomeReader) -> Result<BTreeMap<String, Value>> {
    let (workflow, chain) = (thread.workflow()?, thread.chain()?);
    let mut groups = BTreeMap::new();
    for (name, _) in workflow.roles.iter().filter(|(_, role)| role.more.play.is_some()) {
        let last = chain.last_of(name).and_then(|last| chain.get(last));
        if let Some(record) = last {
            groups.insert(name.clone(), of_detail(thread, record.detail, outcome)?);
        }
    }
    Ok(groups)
}

fn of_detail(thread: &Thread<'_>, detail: NodeHash, outcome: &OutcomeReader) -> Result<Value> {
    let (home, store) = (thread.home(), thread.home().store());
    let outputs = message::branches_of(store, detail)?;
    if outputs.is_empty() {
        return Ok(Value::Array(Vec::new()));
    }
    let group = Thread::without_id(home, detail)?;
    let planned = group.workflow()?.planned_branches().unwrap_or_default();
    let items: Vec<Value> = serde_json::from_str(&group.start.prompt).unwrap_or_default();
    let mut branches = Vec::with_capacity(planned.len());
    // Further steps are of roles that resolved conflicts, and of a person who picked a copy.
    for (index, (output, record)) in outputs.into_iter().zip(group.chain()?.records()).take(planned.len()).enumerate() {
        let role = planned.get(index).map(|planned| planned.role.as_str());
        let mut branch = json!({ "name": output.name, "role": role, "output": output.output });
        add_facts(thread, &mut branch, &output, record.detail)?;
        if let Some(outcome) = outcome(home, record.detail)? {
            branch["outcome"] = outcome.into();
        }
        if let Some(item) = items.get(index) {
            branch["item"] = item.clone();
        }
        branches.push(branch);
    }
    Ok(Value::Array(branches))
}

/// Adds the agent and the usage of a branch, or why it failed.
fn add_facts(thread: &Thread<'_>, branch: &mut Value, output: &BranchOutput, step: NodeHash) -> Result<()> {
    if let Some(why) = output.failure() {
        branch["failed"] = why.into();
        return Ok(());
    }
    let own = Thread::without_id(thread.home(), step)?;
    branch["agent"] = nodes::step_node(thread.home().store(), step)?.0.agent.into();
    let total = usage::reported(&own)?.total;
    branch["usage"] = json!({ "tokens": total.tokens, "cost": total.cost, "seconds": total.seconds });
    Ok(())
}
