//! Links the steps of a group's thread, one for each branch, in the order of the group, and ends the thread.

use json_cas::{NodeDraft, NodeHash, Store, StoreError, SwapOutcome};
use serde_json::{Map, json};
use uwf_core::config::UwfConfig;
use uwf_core::moderator::{EndReason, ModeratorDecision, NextAction};
use uwf_core::node::{ExtractedBy, GROUP_SOURCE, ReactSession, StepNode, TypedPayload};
use uwf_core::thread::{ThreadId, failed_branch, failed_branch_schema};
use uwf_core::usage::UsageAmount;
use uwf_core::workflow::GROUP_AGENT;

use crate::attempt::agents::AgentSpec;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::spent;
use crate::attempt::turns::NodeBatch;
use crate::error::Result;
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::root::node_types;
use crate::thread::ending::ThreadEnding;
use crate::thread::load::{self, Thread};
use crate::thread::runs::{BRANCH_USAGE, BranchUsage};
use crate::thread::{children, moderate, nodes};
use crate::verbs::kill;
use crate::verbs::start_child;
use crate::verbs::step::end;
use crate::views::groups;
use crate::views::thread_now::ThreadNow;

/// A branch that has ended.
#[derive(Debug, Clone)]
pub struct EndedBranch {
    /// Its name in the group.
    pub name: String,
    /// Its result.
    pub result: BranchResult,
}

/// The result of a branch.
#[derive(Debug, Clone)]
pub enum BranchResult {
    /// The only step of its thread.
    Step(NodeHash),
    /// Why it failed, where the group continues without it.
    Failed(String),
}

/// Links the steps of these branches, which begin at a position of the group, from 0, unless they are linked. Every step depends only on
/// the branches, so a process that does this again after a crash links the same nodes.
///
/// # Errors
/// `Busy` if another process moved the head; errors of store and index.
pub fn link_branches(home: &Home, group: &ThreadId, position: usize, branches: &[EndedBranch]) -> Result<()> {
    let (thread, head) = Thread::active(home, group)?;
    let linked = thread.chain()?.len().saturating_sub(position);
    let Some(missing) = branches.get(linked..).filter(|missing| !missing.is_empty()) else { return Ok(()) };
    let last = link(home, &thread, missing)?;
    match home.heads().swap(group.as_str(), &head.version, last)? {
        SwapOutcome::Done => Ok(()),
        SwapOutcome::Moved(Some(now)) if now.hash == last => Ok(()),
        SwapOutcome::Moved(_) => Err(load::head_moved(group, "being linked")),
    }
}

/// Ends the thread of a group whose steps are linked.
///
/// # Errors
/// `Busy` if another process moved the head; errors of store and index.
pub fn end_group(home: &Home, group: &ThreadId) -> Result<HistoryLine> {
    let (thread, head) = Thread::active(home, group)?;
    let workflow = thread.workflow()?;
    let decision = match workflow.graph.contains_key(thread.position()) {
        true => moderate::next(&thread, &workflow)?,
        // A role resolved a conflict, or a person picked a copy after the expression named none. The workflow has no branch for this.
        false => ModeratorDecision { next: NextAction::End(EndReason::Graph), trace: Vec::new() },
    };
    end::end(&thread, &head, ThreadEnding::by(&decision), Some(&workflow), None)?;
    kill::kill_left_children(home, group)?;
    history::newest_line(home, group)?.ok_or_else(|| missing_thread::not_found(home, group))
}

/// Stores the steps of branches after the thread's head. Returns the last one.
fn link(home: &Home, thread: &Thread<'_>, branches: &[EndedBranch]) -> Result<NodeHash> {
    let _hold = home.hold_nodes()?;
    node_types::ensure(home)?;
    let mut batch = NodeBatch::default();
    let mut prev = thread.last.is_some().then_some(thread.head);
    for branch in branches {
        let (output, detail) = match &branch.result {
            BranchResult::Step(step) => (nodes::step_node(home.store(), *step)?.0.output, *step),
            BranchResult::Failed(why) => failed(&mut batch, thread, &branch.name, why)?,
        };
        let role = branch.name.clone();
        let step = StepNode { start: thread.start_hash, prev, role, output, detail, agent: GROUP_AGENT.to_owned() };
        prev = Some(batch.add(step.draft()));
    }
    home.store().put_all(&batch.drafts)?;
    Ok(prev.unwrap_or(thread.head))
}

/// The usage of the thread of a failed branch.
fn usage(branch: &Thread<'_>) -> Result<BranchUsage> {
    let config = UwfConfig::default();
    let amount = spent::used(branch, &config, &spent::failed_at(branch)?, None)?;
    let work = groups::work(&ThreadNow::read(branch.home(), &branch.id)?, &config);
    // The time of an attempt without turns is only in the record.
    let seconds = amount.seconds.max(work.took_ms as f64 / 1000.0);
    Ok(BranchUsage {
        amount: UsageAmount { seconds, ..amount },
        tokens_unknown: !work.spent.are_tokens_whole(),
        agent: work.agent.map(|name| name.agent),
        cost_unknown: Some(!work.spent.is_cost_whole()),
    })
}

/// The output and the detail of a failed branch that a fork took over; `None` for another branch, or without its nodes.
fn taken_over(home: &Home, branch: &ThreadId) -> Result<Option<(NodeHash, NodeHash)>> {
    let Some(step) = ThreadSettings::load(home, branch)?.and_then(|settings| settings.failed_step) else {
        return Ok(None);
    };
    let Ok((step, _)) = nodes::step_node(home.store(), step) else { return Ok(None) };
    let is_there = nodes::get(home.store(), step.output).is_ok() && nodes::get(home.store(), step.detail).is_ok();
    Ok(is_there.then_some((step.output, step.detail)))
}

/// Adds the output and the detail of a failed branch: a session without turns, and with the usage of the branch's thread, because a
/// condition must decide the same on every machine.
fn failed(batch: &mut NodeBatch, group: &Thread<'_>, name: &str, why: &str) -> Result<(NodeHash, NodeHash)> {
    let branch = start_child::child_id(group, name);
    if let Some(known) = taken_over(group.home(), &branch)? {
        return Ok(known);
    }
    let usage = match children::find(group.home(), &branch)? {
        Some(branch) => usage(&branch)?,
        None => BranchUsage { cost_unknown: Some(false), ..BranchUsage::default() },
    };
    let schema = batch.add(Store::schema_draft(failed_branch_schema())?);
    let output = batch.add(NodeDraft::new(schema, failed_branch(why)).map_err(StoreError::from)?);
    let session = ReactSession {
        agent: batch.add(AgentSpec::of_group().payload().draft()),
        role: name.to_owned(),
        turns: Vec::new(),
        raw: batch.content(why.to_owned()),
        attempts: Vec::new(),
        total_tokens: None,
        tokens: None,
        duration_ms: 0,
        source: GROUP_SOURCE.to_owned(),
        extracted_by: ExtractedBy::Submit,
        session_id: None,
        extras: Some(Map::from_iter([(BRANCH_USAGE.to_owned(), json!(usage))])),
        extraction: Vec::new(),
    };
    Ok((output, batch.add(session.draft())))
}
