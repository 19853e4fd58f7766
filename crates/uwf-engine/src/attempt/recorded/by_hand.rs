//! An agent that somebody runs by hand: all an attempt has, but no keeper waits for it and no head moves. What it is
//! played with is in a file of its own, and the record of the thread knows nothing of it.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use durable_files::regular;
use uwf_core::thread::ThreadId;

use super::lines::Opened;
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;
use crate::root::sharing;

/// How the ids of such attempts begin, in front of a ULID.
const PREFIX: &str = "hand-";

/// File in the directory of the attempt that holds what it is played with.
const OPENED: &str = "opened.json";

/// Whether an attempt is none of the thread's record.
pub(crate) fn is_by_hand(attempt: &str) -> bool {
    // Checked before a path is made of it: it comes from the environment.
    let ulid = attempt.strip_prefix(PREFIX).unwrap_or_default();
    ulid.len() == 26 && ulid.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl Opened {
    /// Whether somebody runs the agent by hand: of that the record of the thread knows nothing.
    pub fn is_by_hand(&self) -> bool {
        is_by_hand(&self.attempt)
    }
}

/// Directory of the files of such an attempt.
pub(crate) fn dir_by_hand(home: &Home, thread: &ThreadId, attempt: &str) -> PathBuf {
    home.thread_dir(thread).join("by-hand").join(attempt)
}

/// Makes an attempt one that is run by hand: gives it an id and a directory.
///
/// # Errors
/// `Io`.
pub(crate) fn open_by_hand(home: &Home, opened: Opened) -> Result<Opened> {
    let opened = Opened { attempt: format!("{PREFIX}{}", ids::new_ulid()), ..opened };
    let dir = dir_by_hand(home, &opened.thread, &opened.attempt);
    std::fs::DirBuilder::new().recursive(true).mode(sharing::output_dir_mode(home)).create(&dir).at("create", &dir)?;
    let text = serde_json::to_vec(&opened)
        .map_err(|error| Error::internal(format!("an attempt cannot be written: {error}")))?;
    let file = dir.join(OPENED);
    regular::write(&file, &text).at("write", &file)?;
    Ok(opened)
}

/// What an agent that is run by hand is played with; `None` when the id is that of another kind of attempt, or of one that
/// is over.
pub(super) fn read(home: &Home, thread: &ThreadId, attempt: &str) -> Option<Opened> {
    if !is_by_hand(attempt) {
        return None;
    }
    let text = regular::read(&dir_by_hand(home, thread, attempt).join(OPENED), regular::MAX_TEXT).ok()?;
    serde_json::from_slice(&text).ok()
}
