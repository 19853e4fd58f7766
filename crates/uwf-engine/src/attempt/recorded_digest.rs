//! The digests in the record of a thread.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::ThreadRecord;
use crate::attempt::settings::Settings;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::digest::{self, Digest};
use crate::thread::load::Thread;

/// All digests that the record of a thread still has, newest first. Older digests are dropped with their attempts,
/// because the newest digest covers them.
///
/// # Errors
/// Errors of the record.
pub fn all(home: &Home, thread: &ThreadId) -> Result<Vec<(Hash, Digest)>> {
    Ok(all_in(home, &ThreadRecord::read(home, thread)?).collect())
}

fn all_in(home: &Home, record: &ThreadRecord) -> impl Iterator<Item = (Hash, Digest)> {
    // Damaged settings have no digest.
    let settings = Settings::in_record(home, record).ok().flatten();
    record.digests().chain(settings.and_then(|settings| settings.begun_at.zip(settings.digest)))
}

/// The digest in a record at a node.
pub(crate) fn in_record(home: &Home, record: &ThreadRecord, node: Hash) -> Option<Digest> {
    all_in(home, record).find(|(at, _)| *at == node).map(|(_, digest)| digest)
}

/// The recorded digest at a node of a thread.
///
/// # Errors
/// Errors of the record.
pub fn at(home: &Home, thread: &ThreadId, node: Hash) -> Result<Option<Digest>> {
    Ok(in_record(home, &ThreadRecord::read(home, thread)?, node))
}

/// The digest at a thread's head, to continue from: the recorded digest, otherwise one computed from the current nodes.
pub(crate) fn at_head(thread: &Thread<'_>) -> Result<Digest> {
    match at(thread.home(), &thread.id, thread.head)? {
        Some(digest) => Ok(digest),
        None => Ok(digest::computed_at(thread.home(), thread.head)?),
    }
}
