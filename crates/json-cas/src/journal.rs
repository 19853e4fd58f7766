//! The records of removed names.

use serde_json::Value;

use crate::heads::HeadsError;

/// The records that [`HeadBackend::remove`](crate::HeadBackend::remove) leaves. This is a separate trait because code that moves names does not need
/// it.
pub trait RemovalJournal: Send + Sync {
    /// All records, oldest first, and the problems of unreadable ones.
    ///
    /// # Errors
    /// [`HeadsError::Io`] if the journal as a whole can't be read: try again once the backend works. A single unreadable record is a
    /// problem in the answer.
    fn records(&self) -> Result<JournalRecords, HeadsError>;

    /// The newest readable record of a name.
    ///
    /// # Errors
    /// [`HeadsError::BadName`]; otherwise like [`RemovalJournal::records`].
    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError>;

    /// Drops the records of names, which can then be created again. Returns how many of the names had records.
    ///
    /// # Errors
    /// [`HeadsError::Busy`]: try again. Otherwise like [`RemovalJournal::newest`].
    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError>;
}

/// The content of a [`RemovalJournal`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalRecords {
    /// Records as given to [`HeadBackend::remove`](crate::HeadBackend::remove), oldest first.
    pub readable: Vec<Value>,
    /// Problems of unreadable records, one line each.
    pub problems: Vec<String>,
}
