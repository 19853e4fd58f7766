//! The digests in the record of a thread.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::ThreadRecord;
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::digest::{self, ThreadDigest};
use crate::thread::load::Thread;

/// All digests that the record of a thread still has, newest first. Older digests are dropped with their attempts,
/// because the newest digest covers them.
pub fn all(home: &Home, thread: &ThreadId) -> Result<Vec<(NodeHash, ThreadDigest)>> {
    Ok(all_in(home, &ThreadRecord::read(home, thread)?).collect())
}

fn all_in(home: &Home, record: &ThreadRecord) -> impl Iterator<Item = (NodeHash, ThreadDigest)> {
    // Damaged settings have no digest.
    let settings = ThreadSettings::in_record(home, record).ok().flatten();
    record.digests().chain(settings.and_then(|settings| settings.begun_at.zip(settings.digest)))
}

/// The digest in a record at a node.
pub(crate) fn in_record(home: &Home, record: &ThreadRecord, node: NodeHash) -> Option<ThreadDigest> {
    all_in(home, record).find(|(at, _)| *at == node).map(|(_, digest)| digest)
}

/// The recorded digest at a node of a thread.
pub(crate) fn digest_at_node(home: &Home, thread: &ThreadId, node: NodeHash) -> Result<Option<ThreadDigest>> {
    Ok(in_record(home, &ThreadRecord::read(home, thread)?, node))
}

/// The digest at a thread's head, to continue from: the recorded digest, otherwise one computed from the current nodes.
pub(crate) fn at_head(thread: &Thread<'_>) -> Result<ThreadDigest> {
    match digest_at_node(thread.home(), &thread.id, thread.head)? {
        Some(digest) => Ok(digest),
        None => Ok(digest::computed_at(thread.home(), thread.head)?),
    }
}
