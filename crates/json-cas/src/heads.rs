//! Mutable names.
//!
//! A name is created once, moves by compare-and-swap and is removed for good, leaving one record in a
//! [`Journal`](crate::Journal).

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::hash::Hash;
use crate::remote::RemoteError;

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

/// What keeps it from being known where a name points.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct Damaged {
    /// What is wrong, and where.
    pub reason: String,
    /// What to [`Heads::mend`] against; `None` when it is not known either whether the name was removed.
    pub version: Option<Version>,
}

/// Where a name points, or why that is not known.
pub type Pointing = Result<Hash, Damaged>;

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
/// Names are 1 to [`MAX_NAME_LEN`] symbols of `A-Z a-z 0-9 _ . -`. Every change is atomic and durable when the call returns,
/// also between processes and machines, as far as the backend reaches. [`crate::conformance`] has the test of a backend.
///
/// ```
/// use json_cas::{Hash, Heads, MemoryHeads, Swap};
///
/// let heads = MemoryHeads::new();
/// let (one, two) = (Hash::from_u64(1), Hash::from_u64(2));
/// assert_eq!(heads.create("main", one)?, Swap::Done);
///
/// // Whoever read the name before it moved does not move it again.
/// let seen = heads.read("main")?.expect("it was created");
/// assert_eq!(heads.swap("main", &seen.version, two)?, Swap::Done);
/// assert!(matches!(heads.swap("main", &seen.version, one)?, Swap::Moved(Some(now)) if now.hash == two));
/// # Ok::<(), json_cas::HeadsError>(())
/// ```
pub trait Heads: Send + Sync {
    /// Where a name points; `None` when it does not exist or was removed.
    ///
    /// # Errors
    /// [`HeadsError::BadName`]. [`HeadsError::Unreadable`] and [`HeadsError::Io`] when it is not known where the name points, which
    /// is never taken for a name that does not exist.
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError>;

    /// All names that were not removed, sorted.
    ///
    /// # Errors
    /// [`HeadsError::Unreadable`] and [`HeadsError::Io`]; an incomplete list is never given.
    fn list(&self) -> Result<Vec<(String, Hash)>, HeadsError>;

    /// The same for whoever repairs: all names, also those of which it is not known where they point. Takes longer than a list if there
    /// are any.
    ///
    /// # Errors
    /// Those of [`Heads::list`], but for what is wrong with a single name.
    fn survey(&self) -> Result<Vec<(String, Pointing)>, HeadsError> {
        Ok(self.list()?.into_iter().map(|(name, hash)| (name, Ok(hash))).collect())
    }

    /// Points a damaged name at `new` if it still is as a survey found it.
    ///
    /// # Errors
    /// Those of [`Heads::swap`].
    fn mend(&self, name: &str, damaged: &Version, new: Hash) -> Result<Swap, HeadsError> {
        self.swap(name, damaged, new)
    }

    /// Makes a new name that points at `new`; [`Swap::Moved`] when there is one already.
    ///
    /// # Errors
    /// [`HeadsError::Removed`] when the journal has a record of the name: choose another. [`HeadsError::Busy`]: try again.
    /// Those of [`Heads::read`].
    fn create(&self, name: &str, new: Hash) -> Result<Swap, HeadsError>;

    /// Points `name` at `new` if it still is at `expected`.
    ///
    /// # Errors
    /// [`HeadsError::Busy`]: try again. After [`HeadsError::Io`] the name may have moved: read it. Those of [`Heads::read`].
    fn swap(&self, name: &str, expected: &Version, new: Hash) -> Result<Swap, HeadsError>;

    /// Removes a name that is still at `expected` and leaves `record` in the journal, both or nothing. The name cannot be
    /// created again as long as the journal has the record.
    ///
    /// # Errors
    /// [`HeadsError::BadRecord`] when the backend cannot keep such a record. Those of [`Heads::swap`].
    fn remove(&self, name: &str, expected: &Version, record: &Value) -> Result<Swap, HeadsError>;
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
    /// A name that was removed cannot be created again.
    #[error("{name} was removed and cannot be created again")]
    Removed {
        /// The name.
        name: String,
    },
    /// A record that a backend cannot keep, because it does not say whose it is.
    #[error("cannot remove {name}: its record is not an object with `{key}: {name}`")]
    BadRecord {
        /// The name.
        name: String,
        /// The key that has the name in each record of this backend.
        key: String,
    },
    /// The list of names is there but cannot be understood, or was there and is gone. Nothing is changed until somebody repairs it.
    #[error("cannot read the index {}{}: {reason}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The line, from 1, when one is to blame.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// Others kept the lock for too long. Nothing was changed: try again.
    #[error("{} stayed locked by another process for {waited_ms} ms", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The backend failed. What was to be changed may have changed, or not: read it.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, a verb.
        action: &'static str,
        /// To which file, or what a backend without files calls the place.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A backend on another machine cannot be used. What was to be changed may have changed, or not: read it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl HeadsError {
    /// Whether the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, HeadsError::Io { source, .. } if durable_files::is_disk_full(source))
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
    let is_symbol = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.iter().all(is_symbol)
}
