//! `thread verify`: checks that a thread was not modified.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::{child_threads, recorded_digest};
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::branches::{self, BranchEnd};
use crate::thread::children;
use crate::thread::digest::{self, ThreadDigest};
use crate::thread::load::Thread;

/// Result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadIntegrity {
    /// Every recorded or expected digest matches the nodes.
    Intact,
    /// No digest was recorded or expected.
    Unrecorded,
    /// At least one digest does not match.
    Tampered,
}

/// Details of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadVerification {
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: NodeHash,
    /// Number of steps.
    pub steps: usize,
    /// The result.
    pub verdict: ThreadIntegrity,
    /// The digest at its head, computed from the nodes.
    pub digest: ThreadDigest,
    /// The recorded digest at its head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<ThreadDigest>,
    /// The first node whose digest differs from the recorded one: it or an earlier node was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs_at: Option<NodeHash>,
    /// Number of that node's step, 0 for the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs_at_step: Option<usize>,
}

/// Recomputes the digests of a thread and compares them with all recorded digests, and with one noted elsewhere.
///
/// # Errors
/// `NotFound` if the thread does not exist; errors of its nodes.
pub fn verify(home: &Home, id: &ThreadId, expected: Option<ThreadDigest>) -> Result<ThreadVerification> {
    let thread = Thread::any(home, id)?;
    let computed = digest::computed(home, thread.head)
        .map_err(|error| error.hint(format!("`uwf cas verify {}` names everything that is wrong", thread.head)))?;
    let recorded = recorded_digest::all(home, id)?;
    let differs = computed.iter().position(|(node, digest)| {
        let stated = recorded.iter().find(|(at, _)| at == node);
        stated.is_some_and(|(_, stated)| stated != digest)
    });
    let digest = digest::last(&computed)?;
    let is_expected = expected.is_none_or(|expected| computed.iter().any(|(_, digest)| *digest == expected));
    let at_head = recorded.iter().find(|(at, _)| *at == thread.head).map(|(_, digest)| *digest);
    let verdict = if differs.is_some() || !is_expected {
        ThreadIntegrity::Tampered
    } else if at_head.is_some() || expected == Some(digest) {
        ThreadIntegrity::Intact
    } else {
        of_group(home, &thread)?
    };
    Ok(ThreadVerification {
        thread: id.clone(),
        head: thread.head,
        steps: computed.len().saturating_sub(1),
        verdict,
        digest,
        recorded: at_head,
        differs_at: differs.map(|index| computed[index].0),
        differs_at_step: differs,
    })
}

/// The result for the thread of a group. Its steps are linked without an agent, so the step of its parent covers them, and until that is
/// made the records of its branches.
fn of_group(home: &Home, group: &Thread<'_>) -> Result<ThreadIntegrity> {
    let parent = child_threads::parent_of(home, &group.id);
    let (Some(parent), true) = (parent, group.workflow()?.planned_branches().is_some()) else {
        return Ok(ThreadIntegrity::Unrecorded);
    };
    let covers = Thread::any(home, &parent)?.chain()?.records().iter().any(|record| record.detail == group.head);
    if covers { Ok(verify(home, &parent, None)?.verdict) } else { by_branches(home, group) }
}

/// The worst result of the branches of a group. A step that is not the end of its branch was changed.
fn by_branches(home: &Home, group: &Thread<'_>) -> Result<ThreadIntegrity> {
    let begun = Thread::load_at(home, group.id.clone(), group.start_hash)?;
    let mut ends: BTreeMap<ThreadId, BranchEnd> = branches::linked(group)?
        .into_iter()
        .map(|branch| (child_threads::id_for(&begun, &branch.name), branch.end))
        .collect();
    let known = children::known(home, &group.id)?;
    let mut worst = if known.is_empty() { ThreadIntegrity::Unrecorded } else { ThreadIntegrity::Intact };
    for id in known {
        let branch = verify(home, &id, None)?;
        let verdict = match ends.remove(&id) {
            Some(BranchEnd::Step(last)) if last != branch.head => ThreadIntegrity::Tampered,
            None if branch.steps == 0 && branch.verdict == ThreadIntegrity::Unrecorded => ThreadIntegrity::Intact,
            _ => branch.verdict,
        };
        worst = worst.max(verdict);
    }
    // The thread of a branch is elsewhere.
    Ok(if ends.is_empty() { worst } else { worst.max(ThreadIntegrity::Unrecorded) })
}
