//! The second door to storage: mutable names.
//!
//! A name begins with a creation, moves by compare-and-swap and ends with one record in a
//! journal. It never comes back.

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::hash::Hash;

/// Key in a journal record that holds the name the record ends.
pub const RECORD_NAME_KEY: &str = "thread";

/// Longest name, in bytes.
pub const MAX_NAME_LEN: usize = 128;

/// What a name pointed at when it was read: opaque, made by the backend and given back to it.
#[derive(Debug, Clone, Eq, PartialEq, Hash)]
pub struct Version(String);

impl Version {
    /// For backends: a version from whatever identifies one state of a name.
    pub fn new(token: impl Into<String>) -> Version {
        Version(token.into())
    }

    /// For backends: what the version was made from.
    pub fn token(&self) -> &str {
        &self.0
    }
}

/// Where a name points.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct Head {
    /// The node.
    pub hash: Hash,
    /// What to swap against.
    pub version: Version,
}

/// How a swap ended.
#[derive(Debug, Clone, Eq, PartialEq)]
#[must_use]
pub enum Swap {
    /// It was made, durably.
    Done,
    /// The name is no longer where it was expected to be; this is where it is now, `None` when it
    /// does not exist. Nothing was changed.
    Moved(Option<Head>),
}

/// Mutable names, each pointing at one hash.
///
/// Names are 1 to [`MAX_NAME_LEN`] symbols of `A-Z a-z 0-9 _ . -`.
pub trait Heads: Send + Sync {
    /// Where a name points; `None` when it does not exist or has ended.
    ///
    /// # Errors
    /// [`HeadsError`]; an unreadable index is never taken for an empty one.
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError>;

    /// All names that have not ended, sorted.
    ///
    /// # Errors
    /// [`HeadsError`].
    fn list(&self) -> Result<Vec<(String, Hash)>, HeadsError>;

    /// Points `name` at `new` if it still is at `expected`; `None` means it must not exist yet.
    ///
    /// # Errors
    /// [`HeadsError::Finished`] for the creation of a name that has ended, and all others.
    fn swap(&self, name: &str, expected: Option<&Version>, new: Hash) -> Result<Swap, HeadsError>;

    /// Ends a name that is still at `expected`: `record`, an object whose key `thread` is the
    /// name, is appended to the journal, then the name is dropped.
    ///
    /// # Errors
    /// [`HeadsError::BadRecord`] and all others.
    fn retire(&self, name: &str, expected: &Version, record: &Value) -> Result<Swap, HeadsError>;

    /// Removes the records of an ended name; whether there were any. The name stays unused only as
    /// long as nobody creates it again.
    ///
    /// # Errors
    /// [`HeadsError`] when the journal cannot be read or written.
    fn forget(&self, name: &str) -> Result<bool, HeadsError>;

    /// All records of ended names, oldest first. What cannot be read is left out and told by
    /// [`Heads::journal_problems`].
    ///
    /// # Errors
    /// [`HeadsError`] when the journal as a whole cannot be read.
    fn journal(&self) -> Result<Vec<Value>, HeadsError>;

    /// The newest record of a name.
    ///
    /// # Errors
    /// [`HeadsError`] when the journal as a whole cannot be read.
    fn retired(&self, name: &str) -> Result<Option<Value>, HeadsError>;

    /// What in the journal cannot be read, in words, for a report.
    ///
    /// # Errors
    /// [`HeadsError`] when the journal as a whole cannot be read.
    fn journal_problems(&self) -> Result<Vec<String>, HeadsError> {
        Ok(Vec::new())
    }
}

/// Why a name could not be read or moved.
#[derive(Debug, thiserror::Error)]
pub enum HeadsError {
    /// The name has symbols that a name may not have.
    #[error("`{name}` cannot be a name: 1 to {MAX_NAME_LEN} of A-Z a-z 0-9 _ . - are allowed")]
    BadName {
        /// What was given.
        name: String,
    },
    /// A name that has ended cannot be created again.
    #[error("{name} has ended and cannot be created again")]
    Finished {
        /// The name.
        name: String,
    },
    /// The record that should end a name is not one of that name.
    #[error("cannot end {name}: its record is not an object with `thread: {name}`")]
    BadRecord {
        /// The name.
        name: String,
    },
    /// The index is there but is not an index.
    #[error("cannot read the index {}{}: {reason}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The line, from 1, when one is to blame.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// Others kept the lock for too long.
    #[error("{} stayed locked by another process for {waited_ms} ms", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The backend failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, a verb.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl HeadsError {
    /// Whether the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            HeadsError::Io { source, .. } => crate::durable::is_disk_full(source),
            HeadsError::BadName { .. }
            | HeadsError::Finished { .. }
            | HeadsError::BadRecord { .. }
            | HeadsError::Unreadable { .. }
            | HeadsError::Busy { .. } => false,
        }
    }
}

/// Refuses what cannot be a name.
///
/// # Errors
/// [`HeadsError::BadName`].
pub fn check_name(name: &str) -> Result<(), HeadsError> {
    if is_name(name.as_bytes()) {
        Ok(())
    } else {
        Err(HeadsError::BadName { name: name.chars().take(MAX_NAME_LEN).collect() })
    }
}

pub(crate) fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.iter().fold(true, |is, byte| is & NAME_BYTES[usize::from(*byte)])
}

/// Whether a byte may be in a name. A table, because each change of an index of 10,000 names looks at 260,000.
const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        byte += 1;
    }
    table
};

/// Refuses a record that does not end `name`.
///
/// # Errors
/// [`HeadsError::BadRecord`].
pub fn check_record(name: &str, record: &Value) -> Result<(), HeadsError> {
    if record_name(record) == Some(name) { Ok(()) } else { Err(HeadsError::BadRecord { name: name.to_owned() }) }
}

/// The name a journal record ends.
pub(crate) fn record_name(record: &Value) -> Option<&str> {
    record.as_object()?.get(RECORD_NAME_KEY)?.as_str()
}
