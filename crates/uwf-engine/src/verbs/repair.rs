//! `thread repair`: steps past what makes a thread unreadable. Nodes never change, so a step that is not sound is made anew
//! with a note in the place of what cannot be used, and every step after it is put behind that one.

use json_cas::{Hash, Swap};
use serde::Serialize;
use uwf_core::node::{Content, Payload, StepNode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Workflow;

use crate::attempt::settings::{self, Settings};
use crate::error::Result;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, Mark};
use crate::thread::closure::{self, Bounds};
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::{load, message};
use crate::verbs::new_thread;

/// What was done to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It was made anew with the same output and a note instead of its detail.
    Noted,
    /// It was made anew with the same output and detail: only the StepNode itself was not as it should be.
    Rewritten,
    /// Its output cannot be used, so it and the steps after it are no longer part of the thread; its role plays again.
    Dropped,
}

/// A step that was not sound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Position in the thread, from 1.
    pub index: usize,
    /// The StepNode.
    pub step: Hash,
    /// Its role.
    pub role: String,
    /// What was done about it, or would be.
    pub action: Action,
    /// What is wrong with it.
    pub why: String,
}

/// What was found, and done unless it was only looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    /// The thread.
    pub thread: ThreadId,
    /// Its head now, or the one it would have.
    pub head: Hash,
    /// The head it had, when that was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Hash>,
    /// The steps that were not sound.
    pub steps: Vec<Row>,
}

/// Looks at every step of a thread, and unless `dry_run` puts sound steps in the place of those that are not.
///
/// # Errors
/// `NotFound` when the thread is not active, `Busy` while it is stepped, `Data` when a StepNode itself cannot be read.
pub fn repair(home: &Home, id: &ThreadId, dry_run: bool) -> Result<Repaired> {
    let lock = lock::take(home, id)?;
    lock.write_owner(&std::process::id().to_string())?;
    let (thread, head) = Thread::active(home, id)?;
    let workflow = thread.workflow()?;
    let mut new = New { home, workflow: &workflow, head: None, drafts: Vec::new(), rows: Vec::new() };
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
        let settings = Settings::load(home, id)?.ok_or_else(|| settings::unknown_workspace(id))?;
        new_thread::begin_anew(home, id, at, &settings)?;
        // It is derived, and of the head before.
        let _ = std::fs::remove_file(home.chain_file(id));
        if let Swap::Moved(_) = home.heads().swap(id.as_str(), &head.version, at)? {
            return Err(load::head_moved(id, "repaired"));
        }
        marks::clear(home, id, &[Mark::Waiting, Mark::Limited, Mark::Stuck, Mark::Open])?;
    }
    Ok(Repaired { thread: id.clone(), head: at, before, steps: new.rows })
}

/// The StepNodes of a thread, oldest first, read from the nodes alone.
fn steps(thread: &Thread<'_>) -> Result<Vec<Hash>> {
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

/// The thread as it will be.
struct New<'a> {
    home: &'a Home,
    workflow: &'a Workflow,
    /// The newest step.
    head: Option<Hash>,
    drafts: Vec<json_cas::Draft>,
    rows: Vec<Row>,
}

impl New<'_> {
    /// Adds a step of the thread as it is; whether the next one can follow.
    fn add(&mut self, index: usize, hash: Hash) -> Result<bool> {
        let (step, _) = nodes::step_node(self.home.store(), hash)?;
        let Some((action, why)) = self.unsound(hash, &step)? else {
            if step.prev == self.head {
                self.head = Some(hash);
            } else {
                self.put(StepNode { prev: self.head, ..step });
            }
            return Ok(true);
        };
        self.rows.push(Row { index, step: hash, role: step.role.clone(), action, why: why.clone() });
        match action {
            Action::Dropped => return Ok(false),
            Action::Rewritten => self.put(StepNode { prev: self.head, ..step }),
            Action::Noted => {
                let old = step.detail;
                let text = format!("[uwf thread repair: what was recorded of this step ({old}) cannot be used: {why}]");
                let note = Content { text }.draft();
                let detail = note.hash();
                self.drafts.push(note);
                self.put(StepNode { prev: self.head, detail, ..step });
            }
        }
        Ok(true)
    }

    /// What is wrong with a step, and what is to be done about it.
    fn unsound(&self, hash: Hash, step: &StepNode) -> Result<Option<(Action, String)>> {
        let whole = Bounds::of_step(hash, step);
        let part = |root| Bounds { roots: vec![root], outside: whole.outside.clone() };
        if let Some(why) = self.output_fault(step, &part(step.output))? {
            return Ok(Some((Action::Dropped, why)));
        }
        let Some(why) = self.fault(&whole, Some(step.detail))? else { return Ok(None) };
        let is_told = self.fault(&part(step.detail), Some(step.detail))?.is_none();
        Ok(Some((if is_told { Action::Rewritten } else { Action::Noted }, why)))
    }

    fn put(&mut self, step: StepNode) {
        let draft = step.draft();
        self.head = Some(draft.hash());
        self.drafts.push(draft);
    }

    fn output_fault(&self, step: &StepNode, bounds: &Bounds) -> Result<Option<String>> {
        let Some(role) = self.workflow.roles.get(&step.role) else {
            return Ok(Some(format!("the workflow has no role `{}`", step.role)));
        };
        if let Some(why) = self.fault(bounds, None)? {
            return Ok(Some(why));
        }
        let output = self.home.store().get(step.output)?;
        let fits = output.type_hash == role.meta;
        Ok((!fits).then(|| format!("its output has type {}, its role wants {}", output.type_hash, role.meta)))
    }

    /// What is wrong with nodes, and with what a detail among them tells.
    fn fault(&self, bounds: &Bounds, detail: Option<Hash>) -> Result<Option<String>> {
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
