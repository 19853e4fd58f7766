//! Small mutable documents for machines that share a store.

use std::time::Duration;

use serde_json::Value;

use crate::heads::{HeadsError, NameVersion};

/// A note as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredNote {
    /// The content. Null as well if what the backend stores is corrupt, so that a broken note never breaks a list.
    pub value: Value,
    /// The version to write against, whatever the content.
    pub version: NameVersion,
    /// Time since the note was written, by the clock of the backend. The clocks of machines that read or write don't matter, so they may
    /// disagree about the time. The age may be up to two seconds too high, but never too low.
    pub age: Duration,
}

/// A note in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedNote {
    /// The name.
    pub name: String,
    /// Like [`StoredNote::age`].
    pub age: Duration,
    /// Changes whenever the note is rewritten. A caller that has read the note since a list with this version need not read it again.
    pub version: NameVersion,
}

/// Condition for writing a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteWriteCondition<'v> {
    /// No condition.
    Anything,
    /// There must be no note of this name.
    Nothing,
    /// The note must still be at this version.
    At(&'v NameVersion),
}

/// The outcome of writing a note.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum NoteWritten {
    /// The note was written, durably, and is now at this version.
    Done(NameVersion),
    /// The condition failed. Contains the current note, or `None` if there is none. Usually the write was not made. But if its answer was
    /// lost and it was repeated, it may have been made, and another writer may have overwritten it in between.
    Moved(Option<StoredNote>),
}

/// Small documents by name that several machines read and write: for example, which machine is working on something, or why something
/// makes no progress.
///
/// Names follow the rules of [`HeadBackend`](crate::HeadBackend), but in a separate namespace. Every change is atomic and durable when the call
/// returns. A note is written as a whole; if two writers write against the same version, one of them wins. So use notes for what the
/// newest writer says, not for counting: see [`NoteWritten::Moved`].
pub trait NoteBackend: Send + Sync {
    /// A note; `None` if it does not exist.
    fn note(&self, name: &str) -> Result<Option<StoredNote>, HeadsError>;

    /// Lists notes by prefix, sorted by name. Entries with invalid names are skipped.
    ///
    /// # Errors
    /// Like [`HeadBackend::list`](crate::HeadBackend::list); [`HeadsError::BadName`] if the prefix is not empty and no name can begin with it.
    fn notes(&self, begin: &str) -> Result<Vec<ListedNote>, HeadsError>;

    /// These notes, in the order of their names here, without missing ones. A remote store is asked for many at a time.
    fn read_notes(&self, names: &[String]) -> Result<Vec<(String, StoredNote)>, HeadsError> {
        let read = |name: &String| Ok(self.note(name)?.map(|note| (name.clone(), note)));
        names.iter().filter_map(|name| read(name).transpose()).collect()
    }

    /// Writes a note if the condition holds.
    ///
    /// # Errors
    /// After [`HeadsError::Io`] and [`HeadsError::Remote`] the note may have been written: read it. Otherwise like [`NoteBackend::note`].
    fn write_note(
        &self,
        name: &str,
        expected: NoteWriteCondition<'_>,
        value: &Value,
    ) -> Result<NoteWritten, HeadsError>;

    /// Removes a note, whatever its content, if it exists.
    fn remove_note(&self, name: &str) -> Result<(), HeadsError>;
}
