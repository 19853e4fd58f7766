//! Notes of deliveries that were carried out. A note outlives the thread that it names, so a repeated delivery changes nothing after the
//! thread was removed. With a shared store the notes are in the store, otherwise they are files.

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
use crate::verbs::step::newest_attempt::NewestAttempt;

/// How long to wait for another delivery that is being noted: a file is written meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prefix of the names of such notes.
const KIND: &str = "delivery.";

/// How long a delivery is remembered. GitHub repeats deliveries for 3 days.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// The effect of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum DeliveryNote {
    /// It answers a question.
    Answer(AnsweredQuestion),
    /// It has started a thread.
    Start(StartedThread),
}

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
    /// Whether the hook runs the thread afterwards.
    #[serde(default)]
    pub run: bool,
}

/// The thread that a delivery has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartedThread {
    /// The thread.
    pub(super) thread: ThreadId,
    /// Whether the hook runs it.
    pub(super) run: bool,
}

impl DeliveryNote {
    /// The thread, and whether its hook runs it.
    pub(super) fn thread(&self) -> (&ThreadId, bool) {
        match self {
            DeliveryNote::Answer(answered) => (&answered.thread, answered.run),
            DeliveryNote::Start(started) => (&started.thread, started.run),
        }
    }
}

/// Notes a delivery, unless it is noted already. Returns the note that counts. `delivery` is the id that [`super::thread_id`] derives.
///
/// # Errors
/// `Io`, errors of a shared store.
pub(super) fn note(home: &Home, delivery: &ThreadId, what: &DeliveryNote) -> Result<DeliveryNote> {
    if let Some(earlier) = noted(home, delivery)? {
        return Ok(earlier);
    }
    forget_old(home);
    if home.serves_other_machines() {
        let value = serde_json::to_value(what).map_err(|error| Error::internal(error.to_string()))?;
        return match home.notes().write_note(&note_name(delivery), NoteWriteCondition::Nothing, &value)? {
            NoteWritten::Done(_) | NoteWritten::Moved(None) => Ok(what.clone()),
            NoteWritten::Moved(Some(note)) => read(note.value),
        };
    }
    let text = serde_json::to_string(what).map_err(|error| Error::internal(error.to_string()))?;
    let dir = home.deliveries_dir();
    std::fs::create_dir_all(&dir).path_context("create", &dir)?;
    // Under the lock, the first of two notes stays.
    let _lock = FileLock::acquire(&home.deliveries_lock(), LOCK_WAIT)?
        .ok_or_else(|| Error::busy("another process notes deliveries"))?;
    if let Some(earlier) = noted(home, delivery)? {
        return Ok(earlier);
    }
    durable_files::replace_private(&home.delivery_file(delivery), text.as_bytes())?;
    Ok(what.clone())
}

/// The note of a delivery.
///
/// # Errors
/// `Io`, errors of a shared store; `Data` for a note that uwf did not write.
pub(super) fn noted(home: &Home, delivery: &ThreadId) -> Result<Option<DeliveryNote>> {
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

/// All notes. Unreadable ones are left out.
///
/// # Errors
/// Errors of a shared store.
pub(super) fn all(home: &Home) -> Result<Vec<DeliveryNote>> {
    if home.serves_other_machines() {
        let listed = home.notes().notes(KIND)?;
        let read_note = |name: &str| read(home.notes().note(name).ok()??.value).ok();
        return Ok(listed.iter().filter_map(|note| read_note(&note.name)).collect());
    }
    let texts = files(home).filter_map(|path| regular::read_to_string(&path, regular::MAX_TEXT).ok());
    Ok(texts.filter_map(|text| read(json_cas::json_value(&text).ok()?).ok()).collect())
}

fn files(home: &Home) -> impl Iterator<Item = PathBuf> {
    let files = std::fs::read_dir(home.deliveries_dir()).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|extension| extension == "json"))
}

fn read(value: Value) -> Result<DeliveryNote> {
    serde_json::from_value(value).map_err(|error| damaged(&error))
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::data(format!("the note of a delivery can't be read: {error}"))
        .hint("start or answer the thread yourself: `uwf run`, `uwf thread answer`")
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
    let is_old = |path: &PathBuf| {
        let modified = path.metadata().and_then(|meta| meta.modified()).ok();
        modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > KEPT)
    };
    for path in files(home).filter(is_old) {
        let _ = std::fs::remove_file(path);
    }
}
