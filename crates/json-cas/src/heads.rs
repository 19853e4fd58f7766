//! Mutable names.
//!
//! A name is created once, moves by compare-and-swap and is removed for good, leaving one record in a [`RemovalJournal`](crate::RemovalJournal).

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::hash::NodeHash;
use crate::remote::RemoteError;

/// Longest name, in bytes.
pub const MAX_NAME_LEN: usize = 128;

/// The state of a name when it was read. Opaque: only the backend that issued it can interpret it.
#[derive(Debug, Clone, Eq, PartialEq, Hash)]
pub struct NameVersion(String);

impl NameVersion {
    /// For backends: a version from a token that identifies one state of a name.
    pub fn new(token: impl Into<String>) -> NameVersion {
        NameVersion(token.into())
    }

    /// For backends: the token of the version.
    pub fn token(&self) -> &str {
        &self.0
    }
}

/// The node that a name points at.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct Head {
    /// The node.
    pub hash: NodeHash,
    /// The version to swap against.
    pub version: NameVersion,
}

/// Why it is unknown where a name points.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct NameDamage {
    /// The problem and its place.
    pub reason: String,
    /// The version to [`HeadBackend::mend`] against; `None` if it is also unknown whether the name was removed.
    pub version: Option<NameVersion>,
}

/// The node that a name points at, or why that is unknown.
pub type Pointing = Result<NodeHash, NameDamage>;

/// The outcome of a swap.
#[derive(Debug, Clone, Eq, PartialEq)]
#[must_use]
pub enum SwapOutcome {
    /// The swap was made, durably.
    Done,
    /// The name is no longer where it was expected. Contains its current head, or `None` if it does not exist. Nothing was changed.
    Moved(Option<Head>),
}

/// Mutable names, each pointing at one hash.
///
/// Names are 1 to [`MAX_NAME_LEN`] symbols of `A-Z a-z 0-9 _ . -`. Every change is atomic and durable when the call returns, even between
/// processes and machines, as far as the backend reaches. [`crate::conformance`] has the tests for backends.
///
/// ```
/// use json_cas::{NodeHash, HeadBackend, MemoryHeads, SwapOutcome};
///
/// let heads = MemoryHeads::new();
/// let (one, two) = (NodeHash::from_u64(1), NodeHash::from_u64(2));
/// assert_eq!(heads.create("main", one)?, SwapOutcome::Done);
///
/// // A caller that read the name before it moved can't move it again.
/// let seen = heads.read("main")?.expect("it was created");
/// assert_eq!(heads.swap("main", &seen.version, two)?, SwapOutcome::Done);
/// assert!(matches!(heads.swap("main", &seen.version, one)?, SwapOutcome::Moved(Some(now)) if now.hash == two));
/// # Ok::<(), json_cas::HeadsError>(())
/// ```
pub trait HeadBackend: Send + Sync {
    /// The head of a name; `None` if the name does not exist or was removed.
    ///
    /// # Errors
    /// [`HeadsError::BadName`]. [`HeadsError::Unreadable`] and [`HeadsError::Io`] if it is unknown where the name points; this is never
    /// reported as a missing name.
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError>;

    /// All names that were not removed, sorted.
    ///
    /// # Errors
    /// [`HeadsError::Unreadable`] and [`HeadsError::Io`]; an incomplete list is never returned.
    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError>;

    /// All names for repair, including names for which it is unknown where they point. Takes longer than [`HeadBackend::list`] if there are any.
    ///
    /// # Errors
    /// Like [`HeadBackend::list`], except for problems with a single name.
    fn survey(&self) -> Result<Vec<(String, Pointing)>, HeadsError> {
        Ok(self.list()?.into_iter().map(|(name, hash)| (name, Ok(hash))).collect())
    }

    /// Points a damaged name at `new` if it is still as a survey found it.
    fn mend(&self, name: &str, damaged: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.swap(name, damaged, new)
    }

    /// Creates a name that points at `new`; [`SwapOutcome::Moved`] if it already exists.
    ///
    /// # Errors
    /// [`HeadsError::Removed`] if the journal has a record of the name: choose another name. [`HeadsError::Busy`]: try again. Otherwise
    /// like [`HeadBackend::read`].
    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError>;

    /// Points `name` at `new` if it is still at `expected`.
    ///
    /// # Errors
    /// [`HeadsError::Busy`]: try again. After [`HeadsError::Io`] the name may have moved: read it. Otherwise like [`HeadBackend::read`].
    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError>;

    /// Removes a name that is still at `expected` and leaves `record` in the journal: both happen, or neither. The name can't be created
    /// again while the journal has the record.
    ///
    /// # Errors
    /// [`HeadsError::BadRecord`] if the backend can't store such a record. Otherwise like [`HeadBackend::swap`].
    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError>;
}

/// Why a name could not be read or moved.
#[derive(Debug, thiserror::Error)]
pub enum HeadsError {
    /// The name contains invalid symbols, or is empty or too long.
    #[error("`{name}` cannot be a name: 1 to {MAX_NAME_LEN} of A-Z a-z 0-9 _ . - are allowed")]
    BadName {
        /// The given name, cut to the maximum length.
        name: String,
    },
    /// A removed name can't be created again.
    #[error("{name} was removed and cannot be created again")]
    Removed {
        /// The name.
        name: String,
    },
    /// The backend can't store a record because it lacks its name.
    #[error("cannot remove {name}: its record is not an object with `{key}: {name}`")]
    BadRecord {
        /// The name.
        name: String,
        /// The key under which each record of this backend has its name.
        key: String,
    },
    /// The list of names is unreadable, or existed and is gone. Nothing is changed until it is repaired.
    #[error("cannot read the index {}{}: {reason}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The faulty line, starting at 1, if there is one.
        line: Option<usize>,
        /// The problem.
        reason: String,
    },
    /// Others held the lock for too long. Nothing was changed: try again.
    #[error("{} stayed locked by another process for {waited_ms} ms", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// The time waited, in milliseconds.
        waited_ms: u64,
    },
    /// The backend failed. The change may have been made or not: read the name.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, a verb.
        action: &'static str,
        /// The file, or the place as a backend without files names it.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A remote backend can't be used. The change may have been made or not: read the name.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl HeadsError {
    /// Whether the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, HeadsError::Io { source, .. } if durable_files::is_disk_full(source))
    }
}

/// Rejects an invalid name.
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
