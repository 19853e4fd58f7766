//! Digests that make the run of a thread tamper-evident. The hash that names a node is not cryptographic: a program that can write to the
//! store can replace a node with another one. So the line that records a finished step carries a BLAKE3 digest over the nodes of that
//! step, chained with the digest of the previous step: one value covers the whole run.
//!
//! ```text
//! node  = BLAKE3( type, 13 ASCII symbols ‖ payload, canonical CBOR )
//! nodes = for each node of the closure, in ascending order of their hashes: hash, 13 ASCII symbols ‖ node, 32 bytes
//! start = BLAKE3( 32 zero bytes ‖ nodes of the StartNode )
//! step  = BLAKE3( digest before, 32 bytes ‖ nodes of the StepNode )
//! ```
//!
//! [`closure`] defines which nodes belong to a step.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use json_cas::{NodeHash, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::node::{NodeKind, StepNode};

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::closure::{self, ClosureBounds, ClosureNode};
use crate::thread::load::Thread;
use crate::thread::nodes;

/// The digest of a thread at one of its nodes. Written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct ThreadDigest(blake3::Hash);

impl Display for ThreadDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl FromStr for ThreadDigest {
    type Err = Error;

    fn from_str(text: &str) -> Result<ThreadDigest> {
        blake3::Hash::from_hex(text)
            .map(ThreadDigest)
            .map_err(|_| Error::usage(format!("`{text}` is not a digest")).hint("a digest has 64 hexadecimal digits"))
    }
}

impl From<ThreadDigest> for String {
    fn from(digest: ThreadDigest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for ThreadDigest {
    type Error = Error;

    fn try_from(text: String) -> Result<ThreadDigest> {
        text.parse()
    }
}

/// Collects the nodes of a closure, in any order.
#[derive(Default)]
pub(crate) struct DigestBuilder(Vec<(NodeHash, blake3::Hash)>);

impl DigestBuilder {
    /// Adds a node.
    pub(crate) fn add(&mut self, part: &ClosureNode) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&part.node.type_hash.to_ascii()).update(&part.cbor);
        self.0.push((part.hash, hasher.finalize()));
    }

    /// The digest after these nodes. `before` is the previous digest; `None` before the start of a thread.
    pub(crate) fn after(mut self, before: Option<ThreadDigest>) -> ThreadDigest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(before.map_or([0; 32], |before| *before.0.as_bytes()).as_slice());
        self.0.sort_unstable_by_key(|(hash, _)| hash.to_ascii());
        for (hash, node) in self.0 {
            hasher.update(&hash.to_ascii()).update(node.as_bytes());
        }
        ThreadDigest(hasher.finalize())
    }
}

/// The digest at a thread's start.
fn of_start(store: &Store, start: NodeHash) -> Result<ThreadDigest> {
    digest_of_closure(store, &ClosureBounds::below(start), None)
}

/// The digest at a StartNode; `None` at any other node.
pub(crate) fn at_start(store: &Store, node: NodeHash) -> Result<Option<ThreadDigest>> {
    match NodeKind::from_type_hash(nodes::get(store, node)?.type_hash) {
        Some(NodeKind::StartNode) => Ok(Some(of_start(store, node)?)),
        _ => Ok(None),
    }
}

/// The digest at a step.
pub fn of_step(store: &Store, before: ThreadDigest, hash: NodeHash, step: &StepNode) -> Result<ThreadDigest> {
    digest_of_closure(store, &ClosureBounds::of_step(hash, step), Some(before))
}

fn digest_of_closure(store: &Store, bounds: &ClosureBounds, before: Option<ThreadDigest>) -> Result<ThreadDigest> {
    let mut digester = DigestBuilder::default();
    closure::each(store, bounds, |part| digester.add(part))?;
    Ok(digester.after(before))
}

/// The digests of a thread at its start and at each step up to `head`, computed from the nodes.
///
/// # Errors
/// Errors of the nodes; `Data` if `head` is neither start nor step.
pub fn computed(home: &Home, head: NodeHash) -> Result<Vec<(NodeHash, ThreadDigest)>> {
    let store = home.store();
    let thread = Thread::load_at(home, crate::root::ids::new_thread_id(), head)?;
    let mut steps = Vec::new();
    let mut next = thread.last.map(|last| (head, last));
    while let Some((hash, step)) = next {
        next = step.prev.map(|prev| nodes::step_node(store, prev).map(|(step, _)| (prev, step))).transpose()?;
        steps.push((hash, step));
    }
    let mut digest = of_start(store, thread.start_hash)?;
    let mut found = vec![(thread.start_hash, digest)];
    for (hash, step) in steps.into_iter().rev() {
        digest = of_step(store, digest, hash, &step)?;
        found.push((hash, digest));
    }
    Ok(found)
}

/// The digest at one node, computed from the nodes.
pub(crate) fn computed_at(home: &Home, head: NodeHash) -> Result<ThreadDigest> {
    last(&computed(home, head)?)
}

/// The newest of a thread's digests.
///
/// # Errors
/// `Internal` if there are none: a thread always has a start.
pub(crate) fn last(digests: &[(NodeHash, ThreadDigest)]) -> Result<ThreadDigest> {
    let last = digests.last().map(|(_, digest)| *digest);
    last.ok_or_else(|| Error::internal("a thread has no digest at its start"))
}
