//! The digests in the record of a thread.

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded;
use crate::attempt::settings::Settings;
use crate::error::{Error, ErrorCause, Result};
use crate::root::home::Home;
use crate::thread::digest::{self, Digest};
use crate::thread::load::Thread;

/// All digests that the record of a thread still has, newest first. Older digests are dropped with their attempts,
/// because the newest digest covers them.
///
/// # Errors
/// Errors of the record.
pub fn all(home: &Home, thread: &ThreadId) -> Result<Vec<(Hash, Digest)>> {
    let mut found = recorded::digests(home, thread)?;
    let settings = match Settings::load(home, thread) {
        Err(Error { cause: Some(ErrorCause::DamagedSettings), .. }) => None,
        settings => settings?,
    };
    found.extend(settings.and_then(|settings| settings.begun_at.zip(settings.digest)));
    Ok(found)
}

/// The recorded digest at a node of a thread.
///
/// # Errors
/// Errors of the record.
pub fn at(home: &Home, thread: &ThreadId, node: Hash) -> Result<Option<Digest>> {
    Ok(all(home, thread)?.into_iter().find(|(at, _)| *at == node).map(|(_, digest)| digest))
}

/// The digest at a thread's head, to continue from: the recorded digest, otherwise one computed from the current nodes.
///
/// # Errors
/// Errors of the record and the nodes.
pub(crate) fn at_head(thread: &Thread<'_>) -> Result<Digest> {
    match at(thread.home(), &thread.id, thread.head)? {
        Some(digest) => Ok(digest),
        None => Ok(digest::computed_at(thread.home(), thread.head)?),
    }
}
