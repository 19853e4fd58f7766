//! Small documents that change, for those who share a store.

use std::time::Duration;

use serde_json::Value;

use crate::heads::{HeadsError, Version};

/// A note as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// What it says. Null, too, when somebody has spoiled what the backend keeps of it, so that a broken note never breaks a list.
    pub value: Value,
    /// What to write against, whatever it says.
    pub version: Version,
    /// How long ago it was written, by the clock of the backend. No clock of a machine that reads or writes is asked, so
    /// machines may disagree about the time. It may be up to two seconds more than it is, and never less.
    pub age: Duration,
}

/// A note in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedNote {
    /// Its name.
    pub name: String,
    /// As [`Note::age`].
    pub age: Duration,
    /// Another one once the note is written anew: whoever has read it since a list with this version need not read it again.
    pub version: Version,
}

/// Condition under which a note is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected<'v> {
    /// Whatever is there.
    Anything,
    /// No note of this name.
    Nothing,
    /// The one that was read.
    At(&'v Version),
}

/// How the writing of a note ended.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum NoteWritten {
    /// It was written, durably, and is at this version.
    Done(Version),
    /// Something else is there than what was expected: this, `None` when there is no note, or none any more. The write was not made;
    /// or its answer was lost, it was made again, and somebody wrote over it in between.
    Moved(Option<Note>),
}

/// Small documents by name, which several machines read and write: who is at work on something, why something stands still.
///
/// Names are those of [`Heads`](crate::Heads), in a room of their own. Every change is atomic and durable when the call returns. A
/// note is written as a whole; of two who write against the same version one wins. So notes are for what the newest writer says, not
/// for counting: see [`NoteWritten::Moved`].
pub trait Notes: Send + Sync {
    /// A note; `None` when there is none.
    ///
    /// # Errors
    /// Those of [`Heads::read`](crate::Heads::read).
    fn note(&self, name: &str) -> Result<Option<Note>, HeadsError>;

    /// Lists notes by prefix, sorted by name. Entries with invalid names are skipped.
    ///
    /// # Errors
    /// Those of [`Heads::list`](crate::Heads::list), and [`HeadsError::BadName`] for what no name begins with, but for nothing.
    fn notes(&self, begin: &str) -> Result<Vec<ListedNote>, HeadsError>;

    /// These notes, those that are gone left out, in the order of their names here. A store far away is asked for many at a time.
    ///
    /// # Errors
    /// Those of [`Notes::note`].
    fn read_notes(&self, names: &[String]) -> Result<Vec<(String, Note)>, HeadsError> {
        let read = |name: &String| Ok(self.note(name)?.map(|note| (name.clone(), note)));
        names.iter().filter_map(|name| read(name).transpose()).collect()
    }

    /// Writes a note if what is expected is there.
    ///
    /// # Errors
    /// After [`HeadsError::Io`] and [`HeadsError::Remote`] it may have been written: read it. Those of [`Notes::note`].
    fn write_note(&self, name: &str, expected: Expected<'_>, value: &Value) -> Result<NoteWritten, HeadsError>;

    /// Removes a note, if there is one, whatever it says.
    ///
    /// # Errors
    /// Those of [`Notes::note`].
    fn remove_note(&self, name: &str) -> Result<(), HeadsError>;
}
