//! An agent that a person runs by hand. The attempt has everything except a keeper that waits for it, and moves no
//! head. Its plan is in a separate file, and the record of the thread does not mention it.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use durable_files::regular;
use uwf_core::thread::ThreadId;

use super::lines::AttemptOpening;
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;
use crate::root::sharing;

/// Prefix of the ids of such attempts, before a ULID.
const PREFIX: &str = "hand-";

/// File with the plan, in the directory of the attempt.
const OPENED: &str = "opened.json";

/// Whether an attempt was started by hand and is not in the thread's record.
pub(crate) fn is_by_hand(attempt: &str) -> bool {
    // Check it before building a path from it: it comes from the environment.
    let ulid = attempt.strip_prefix(PREFIX).unwrap_or_default();
    ulid.len() == 26 && ulid.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl AttemptOpening {
    /// Whether a person runs the agent by hand; such an attempt is not in the thread's record.
    pub fn is_by_hand(&self) -> bool {
        is_by_hand(&self.attempt)
    }
}

/// Directory for the files of such an attempt.
pub(crate) fn dir_by_hand(home: &Home, thread: &ThreadId, attempt: &str) -> PathBuf {
    home.thread_dir(thread).join("by-hand").join(attempt)
}

/// Turns an attempt into one that is run by hand, with a new id and a directory.
pub(crate) fn open_by_hand(home: &Home, opened: AttemptOpening) -> Result<AttemptOpening> {
    let opened = AttemptOpening { attempt: format!("{PREFIX}{}", ids::new_ulid()), ..opened };
    let dir = dir_by_hand(home, &opened.thread, &opened.attempt);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(sharing::output_dir_mode(home))
        .create(&dir)
        .path_context("create", &dir)?;
    let text = serde_json::to_vec(&opened)
        .map_err(|error| Error::internal(format!("an attempt cannot be written: {error}")))?;
    let file = dir.join(OPENED);
    regular::write(&file, &text).path_context("write", &file)?;
    Ok(opened)
}

/// The plan of an attempt that is run by hand; `None` for another kind of attempt, or one that is over.
pub(super) fn read(home: &Home, thread: &ThreadId, attempt: &str) -> Option<AttemptOpening> {
    if !is_by_hand(attempt) {
        return None;
    }
    let text = regular::read(&dir_by_hand(home, thread, attempt).join(OPENED), regular::MAX_TEXT).ok()?;
    serde_json::from_slice(&text).ok()
}
