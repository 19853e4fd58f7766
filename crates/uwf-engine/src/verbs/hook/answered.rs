//! Deliveries that answer a thread: each is noted before its answer, so that a repeated delivery never answers a later question.
//!
//! The thread's id proves nothing here, because the thread may ask again. With a shared store the note is in the store, otherwise it is a file.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::{FileLock, regular};
use json_cas::{NodeHash, NoteWriteCondition, NoteWritten};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;
use crate::verbs::step::newest_attempt::{self, NewestAttempt};

/// How long to wait for another delivery that is being noted: a file is written meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prefix of the names of such notes.
const KIND: &str = "delivery.";

/// How long a delivery is remembered. GitHub repeats deliveries for 3 days.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// The question that a delivery answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    /// The thread that asks.
    pub thread: ThreadId,
    /// Its head at that time.
    pub head: NodeHash,
    /// The newest attempt there.
    pub attempt: NewestAttempt,
    /// Unix milliseconds.
    pub at: u64,
}

/// Notes the question that a delivery answers, unless it is noted already. Returns the question that counts. `delivery` is the id that
/// [`super::thread_id`] derives.
///
/// # Errors
/// `Io`, errors of a shared store.
pub fn note(home: &Home, delivery: &ThreadId, question: &AnsweredQuestion) -> Result<AnsweredQuestion> {
    if let Some(earlier) = noted(home, delivery)? {
        return Ok(earlier);
    }
    forget_old(home);
    if home.serves_other_machines() {
        let value = serde_json::to_value(question).map_err(|error| Error::internal(error.to_string()))?;
        return match home.notes().write_note(&note_name(delivery), NoteWriteCondition::Nothing, &value)? {
            NoteWritten::Done(_) | NoteWritten::Moved(None) => Ok(question.clone()),
            NoteWritten::Moved(Some(note)) => read(note.value),
        };
    }
    let text = serde_json::to_string(question).map_err(|error| Error::internal(error.to_string()))?;
    let dir = home.deliveries_dir();
    std::fs::create_dir_all(&dir).path_context("create", &dir)?;
    // Under the lock, the first of two notes stays.
    let _lock = FileLock::acquire(&home.deliveries_lock(), LOCK_WAIT)?
        .ok_or_else(|| Error::busy("another process notes deliveries"))?;
    if let Some(earlier) = noted(home, delivery)? {
        return Ok(earlier);
    }
    durable_files::replace_private(&home.delivery_file(delivery), text.as_bytes())?;
    Ok(question.clone())
}

/// The question that a delivery answered, or was about to answer.
///
/// # Errors
/// `Io`, errors of a shared store; `Data` for a note that uwf did not write.
pub fn noted(home: &Home, delivery: &ThreadId) -> Result<Option<AnsweredQuestion>> {
    if home.serves_other_machines() {
        return home.notes().note(&note_name(delivery))?.map(|note| read(note.value)).transpose();
    }
    let path = home.delivery_file(delivery);
    match regular::read_to_string(&path, regular::MAX_TEXT) {
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(None),
        text => {
            let text = text.path_context("read", &path)?;
            let value = json_cas::json_value(&text).map_err(|error| damaged(&error))?;
            read(value).map(Some)
        }
    }
}

fn read(value: Value) -> Result<AnsweredQuestion> {
    serde_json::from_value(value).map_err(|error| damaged(&error))
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::data(format!("the note of a delivery can't be read: {error}"))
        .hint("answer the thread yourself: `uwf thread answer`")
}

fn note_name(delivery: &ThreadId) -> String {
    format!("{KIND}{delivery}")
}

/// Removes notes that are too old to matter. If that fails, the next delivery tries again.
fn forget_old(home: &Home) {
    if home.serves_other_machines() {
        let listed = home.notes().notes(KIND).unwrap_or_default();
        for note in listed.into_iter().filter(|note| note.age > KEPT) {
            let _ = home.notes().remove_note(&note.name);
        }
        return;
    }
    let files = std::fs::read_dir(home.deliveries_dir()).into_iter().flatten().flatten();
    let is_old = |path: &PathBuf| {
        let modified = path.metadata().and_then(|meta| meta.modified()).ok();
        modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > KEPT)
    };
    for path in files.map(|file| file.path()).filter(is_old) {
        let _ = std::fs::remove_file(path);
    }
}

/// The question of a thread now, for [`note`].
///
/// # Errors
/// `Io` if the record cannot be read, and errors of a shared store.
pub fn question(home: &Home, thread: &ThreadId, head: NodeHash) -> Result<AnsweredQuestion> {
    let attempt = newest_attempt::at_head(home, thread, head)?;
    Ok(AnsweredQuestion { thread: thread.clone(), head, attempt, at: ids::now_ms() })
}
