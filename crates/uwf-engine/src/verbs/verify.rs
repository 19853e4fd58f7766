//! `thread verify`: whether a thread is still what was recorded of it.

use json_cas::Hash;
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded_digest;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::digest::{self, Digest};
use crate::thread::load::Thread;

/// What the comparison gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every digest that was recorded or expected is that of the nodes.
    Intact,
    /// One of them is not.
    Tampered,
    /// There is nothing to compare with.
    Unrecorded,
}

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: Hash,
    /// How many steps it has.
    pub steps: usize,
    /// What the comparison gave.
    pub verdict: Verdict,
    /// The digest at its head, made from the nodes as they are.
    pub digest: Digest,
    /// The digest that was recorded at its head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Digest>,
    /// The first node whose digest is not the recorded one: something at it or before it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs_at: Option<Hash>,
    /// Number of the step that node is, 0 for the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs_at_step: Option<usize>,
}

/// Makes the digests of a thread anew and compares them with all that its record has, and with one that was noted elsewhere.
///
/// # Errors
/// `NotFound` when there is no such thread, those of its nodes.
pub fn verify(home: &Home, id: &ThreadId, expected: Option<Digest>) -> Result<Verified> {
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
    let verdict = match () {
        () if differs.is_some() || !is_expected => Verdict::Tampered,
        () if at_head.is_some() || expected == Some(digest) => Verdict::Intact,
        () => Verdict::Unrecorded,
    };
    Ok(Verified {
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
