//! `thread repair`: replaces the parts that make a thread unreadable. Nodes never change, so an unsound step is rewritten with a note in
//! place of its unusable parts, and every later step is rewritten to follow it.

use json_cas::{NodeHash, SwapOutcome};
use serde::Serialize;
use uwf_core::node::{ContentNode, StepNode, TypedPayload};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{GROUP_AGENT, Workflow};

use crate::attempt::settings::{self, ThreadSettings};
use crate::error::Result;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, ThreadMark};
use crate::thread::closure::{self, ClosureBounds};
use crate::thread::load::Thread;
use crate::thread::{load, message, nodes};
use crate::verbs::start::new_thread;

/// Change to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairAction {
    /// Rewritten with the same output, and a note instead of its detail.
    Noted,
    /// Rewritten with the same output and detail: only the StepNode itself was faulty.
    Rewritten,
    /// Its output cannot be used, so it and the steps after it leave the thread; its role plays again.
    Dropped,
}

/// An unsound step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnsoundStep {
    /// Position in the thread, from 1.
    pub index: usize,
    /// The StepNode.
    pub step: NodeHash,
    /// Its role.
    pub role: String,
    /// How it was changed, or would be.
    pub action: RepairAction,
    /// The fault.
    pub why: String,
}

/// The faults found, and their repairs unless it was a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairSummary {
    /// The thread.
    pub thread: ThreadId,
    /// Its new head, or the head it would have.
    pub head: NodeHash,
    /// Its previous head, if the head changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<NodeHash>,
    /// The unsound steps.
    pub steps: Vec<UnsoundStep>,
}

/// Checks every step of a thread and, unless `dry_run` is set, replaces unsound steps with sound ones.
///
/// # Errors
/// `NotFound` if the thread is not active, `Busy` while it is stepped, `Data` if a StepNode itself cannot be read.
pub fn repair(home: &Home, id: &ThreadId, dry_run: bool) -> Result<RepairSummary> {
    let lock = lock::take(home, id)?;
    let _mark = lock::sign(home, id, &lock)?;
    let (thread, head) = Thread::active(home, id)?;
    let workflow = thread.workflow()?;
    let mut new = RepairedThread { home, workflow: &workflow, head: None, drafts: Vec::new(), rows: Vec::new() };
    for (index, hash) in steps(&thread)?.into_iter().enumerate() {
        if !new.add(index + 1, hash)? {
            break;
        }
    }
    let at = new.head.unwrap_or(thread.start_hash);
    let before = (at != thread.head).then_some(thread.head);
    if before.is_some() && !dry_run {
        let _hold = home.hold_nodes()?;
        home.store().put_all(&new.drafts)?;
        let settings = ThreadSettings::load(home, id)?.ok_or_else(|| settings::unknown_workspace(id))?;
        new_thread::begin_anew(home, id, at, &settings)?;
        // It is derived from the old head.
        let _ = std::fs::remove_file(home.chain_file(id));
        if let SwapOutcome::Moved(_) = home.heads().swap(id.as_str(), &head.version, at)? {
            return Err(load::head_moved(id, "repaired"));
        }
        marks::clear(home, id, &[ThreadMark::Waiting, ThreadMark::Limited, ThreadMark::Stuck, ThreadMark::Open])?;
    }
    Ok(RepairSummary { thread: id.clone(), head: at, before, steps: new.rows })
}

/// The StepNodes of a thread, oldest first, read from the nodes alone.
fn steps(thread: &Thread<'_>) -> Result<Vec<NodeHash>> {
    let mut found = Vec::new();
    let mut next = thread.last.is_some().then_some(thread.head);
    while let Some(hash) = next {
        let (step, _) = nodes::step_node(thread.home().store(), hash).map_err(|error| {
            error.hint("a StepNode that is gone cannot be repaired: `uwf thread list` and the history have other heads to fork from")
        })?;
        found.push(hash);
        next = step.prev;
    }
    found.reverse();
    Ok(found)
}

/// The repaired thread.
struct RepairedThread<'a> {
    home: &'a Home,
    workflow: &'a Workflow,
    /// The newest step.
    head: Option<NodeHash>,
    drafts: Vec<json_cas::NodeDraft>,
    rows: Vec<UnsoundStep>,
}

impl RepairedThread<'_> {
    /// Adds a step to the repaired thread. Returns whether the next step can follow it.
    fn add(&mut self, index: usize, hash: NodeHash) -> Result<bool> {
        let (step, _) = nodes::step_node(self.home.store(), hash)?;
        let Some((action, why)) = self.unsound(hash, &step)? else {
            if step.prev == self.head {
                self.head = Some(hash);
            } else {
                self.put(StepNode { prev: self.head, ..step });
            }
            return Ok(true);
        };
        self.rows.push(UnsoundStep { index, step: hash, role: step.role.clone(), action, why: why.clone() });
        match action {
            RepairAction::Dropped => return Ok(false),
            RepairAction::Rewritten => self.put(StepNode { prev: self.head, ..step }),
            RepairAction::Noted => {
                let old = step.detail;
                let text = format!("[uwf thread repair: the record of this step ({old}) cannot be used: {why}]");
                let note = ContentNode { text }.draft();
                let detail = note.hash();
                self.drafts.push(note);
                self.put(StepNode { prev: self.head, detail, ..step });
            }
        }
        Ok(true)
    }

    /// The fault of a step, and how to repair it.
    fn unsound(&self, hash: NodeHash, step: &StepNode) -> Result<Option<(RepairAction, String)>> {
        let whole = ClosureBounds::of_step(hash, step);
        let part = |root| ClosureBounds { roots: vec![root], outside: whole.outside.clone() };
        if let Some(why) = self.output_fault(step, &part(step.output))? {
            return Ok(Some((RepairAction::Dropped, why)));
        }
        let Some(why) = self.fault(&whole, Some(step.detail))? else { return Ok(None) };
        let is_told = self.fault(&part(step.detail), Some(step.detail))?.is_none();
        Ok(Some((if is_told { RepairAction::Rewritten } else { RepairAction::Noted }, why)))
    }

    fn put(&mut self, step: StepNode) {
        let draft = step.draft();
        self.head = Some(draft.hash());
        self.drafts.push(draft);
    }

    fn output_fault(&self, step: &StepNode, bounds: &ClosureBounds) -> Result<Option<String>> {
        let Some(role) = self.workflow.roles.get(&step.role) else {
            return Ok(Some(format!("the workflow has no role `{}`", step.role)));
        };
        if let Some(why) = self.fault(bounds, None)? {
            return Ok(Some(why));
        }
        let output = self.home.store().get(step.output)?;
        // The output of a failed branch has another type, and so has a judge's.
        let fits = output.type_hash == role.meta || step.agent == GROUP_AGENT;
        Ok((!fits).then(|| format!("its output has type {}, its role needs {}", output.type_hash, role.meta)))
    }

    /// The fault of nodes, or of a detail's message among them.
    fn fault(&self, bounds: &ClosureBounds, detail: Option<NodeHash>) -> Result<Option<String>> {
        let store = self.home.store();
        if let Err(unsound) = closure::check(store, bounds, |_| ()) {
            return Ok(Some(unsound.why()?));
        }
        match detail.map(|detail| message::of_detail(store, detail, None)) {
            Some(Err(error)) if error.kind.is_of_the_moment() => Err(error),
            Some(Err(error)) => Ok(Some(error.message)),
            Some(Ok(_)) | None => Ok(None),
        }
    }
}
