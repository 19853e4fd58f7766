//! Ends the thread of a group: links a step for each branch, in the order of the file, and ends the thread.

use json_cas::{Hash, Swap};
use uwf_core::node::{Payload, StepNode};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::GROUP_AGENT;

use crate::error::Result;
use crate::root::history::{self, Finished};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::root::node_types;
use crate::thread::ending::ThreadEnding;
use crate::thread::load::{self, Thread};
use crate::thread::{moderate, nodes};
use crate::verbs::step::end;

/// A branch that has ended.
#[derive(Debug, Clone)]
pub struct EndedBranch {
    /// Its role.
    pub role: String,
    /// The only step of its thread.
    pub step: Hash,
}

/// Links the steps and ends the thread. Every step depends only on the branches, so a process that does this again after a crash links the
/// same nodes. Returns the last step.
///
/// # Errors
/// `Busy` if another process moved the head; errors of store and index.
pub fn end_group(home: &Home, group: &ThreadId, branches: &[EndedBranch]) -> Result<Finished> {
    let (thread, head) = Thread::active(home, group)?;
    let (moved, head) = if thread.last.is_some() {
        (thread, head)
    } else {
        let last = link(home, &thread, branches)?;
        match home.heads().swap(group.as_str(), &head.version, last)? {
            Swap::Done => {}
            Swap::Moved(Some(now)) if now.hash == last => {}
            Swap::Moved(_) => return Err(load::head_moved(group, "being linked")),
        }
        Thread::active(home, group)?
    };
    let workflow = moved.workflow()?;
    let decision = moderate::next(&moved, &workflow)?;
    end::end(&moved, &head, ThreadEnding::by(&decision), Some(&workflow), None)?;
    history::of(home, group)?.ok_or_else(|| missing_thread::not_found(home, group))
}

/// Stores the steps of the branches. Returns the last one.
fn link(home: &Home, thread: &Thread<'_>, branches: &[EndedBranch]) -> Result<Hash> {
    let _hold = home.hold_nodes()?;
    node_types::ensure(home)?;
    let mut prev = None;
    let mut drafts = Vec::with_capacity(branches.len());
    for branch in branches {
        let (own, _) = nodes::step_node(home.store(), branch.step)?;
        let step = StepNode {
            start: thread.start_hash,
            prev,
            role: branch.role.clone(),
            output: own.output,
            detail: branch.step,
            agent: GROUP_AGENT.to_owned(),
        };
        let draft = step.draft();
        prev = Some(draft.hash());
        drafts.push(draft);
    }
    home.store().put_all(&drafts)?;
    Ok(prev.unwrap_or(thread.head))
}
