//! The engine's error: what was being done to what, and which kind of failure it is.

use std::path::PathBuf;

use durable_files::FileError;
use durable_files::regular::Refused;
use json_cas::{Hash, HeadsError, StoreError};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use uwf_core::node::OWN_TYPES;
use uwf_core::thread::ThreadId;

/// What a failure means to whoever drives the engine. The command turns it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Asked for in a way that makes no sense.
    Usage,
    /// A workflow, node or file holds bad data.
    Data,
    /// There is no such thing, or the thread is not active.
    NotFound,
    /// A bug in uwf.
    Internal,
    /// Files: disk full, permissions, missing directories.
    Io,
    /// Somebody else is at it, or the head moved.
    Busy,
    /// The configuration.
    Config,
    /// The thread waits for a person, or is paused.
    Waiting,
    /// A limit or budget was hit.
    Limit,
    /// The agent failed.
    AgentFailed,
    /// The agent's answer could not be turned into the role's output.
    NotExtractable,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Ended by TERM, HUP or `thread kill`.
    Terminated,
}

impl Kind {
    /// The documented exit code of a process that fails like this.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Waiting => 20,
            Kind::Limit => 30,
            Kind::AgentFailed => 40,
            Kind::NotExtractable => 41,
            Kind::Usage => 64,
            Kind::Data => 65,
            Kind::NotFound => 69,
            Kind::Internal => 70,
            Kind::Io => 74,
            Kind::Busy => 75,
            Kind::Config => 78,
            Kind::Interrupted => 130,
            Kind::Terminated => 143,
        }
    }
}

/// A failure of the engine. `hints` say what to try next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Which kind of failure.
    pub kind: Kind,
    /// What was being done to what, and why it failed; one line, lower case.
    pub message: String,
    /// What to try next, each one line.
    pub hints: Vec<String>,
    /// The underlying error, for the log.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What engine functions return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure without hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hints: Vec::new(), source: None }
    }

    /// Adds what to try next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// A failed operation on a file.
    pub fn io(action: &str, path: &std::path::Path, source: std::io::Error) -> Error {
        let error = Error::new(Kind::Io, format!("cannot {action} {}: {source}", path.display()));
        let error = match source.kind() {
            std::io::ErrorKind::StorageFull => {
                error.hint("free some space, then run the same command again: nothing was lost")
            }
            std::io::ErrorKind::PermissionDenied => {
                let there = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path);
                error.hint(format!("{} belongs to {}", there.display(), crate::ownership::owner(there)))
            }
            _ => error,
        };
        Error { source: Some(Box::new(source)), ..error }
    }

    /// Whether this is because something is not what it should be, and will be so at the next try: bad data, a missing file,
    /// one of another kind. Any other failure to read says nothing of what there is to read.
    pub fn is_damage(&self) -> bool {
        let mut cause = self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static));
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                if Refused::of(error).is_some() {
                    return true;
                }
                let of_place = [Errno::NOENT, Errno::ISDIR, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];
                return Errno::from_io_error(error).is_some_and(|errno| of_place.contains(&errno));
            }
            cause = error.source();
        }
        self.kind != Kind::Io
    }

    /// Somebody moved the head of a thread that was to be ended.
    pub(crate) fn head_moved(thread: &ThreadId) -> Error {
        Error::new(Kind::Busy, format!("the head of thread {thread} moved while it was being ended"))
            .hint("look at it with `uwf thread show`, then try again")
    }

    /// There is no active thread of this id.
    pub(crate) fn not_active(thread: &ThreadId) -> Error {
        Error::new(Kind::NotFound, format!("thread {thread} is not active"))
            .hint("`uwf thread list --all` lists finished threads too")
    }

    /// A node has another kind than its place asks for.
    pub(crate) fn wrong_kind(hash: Hash, wanted: &str, found: &str) -> Error {
        Error::new(Kind::Data, format!("node {hash} is a {found}, a {wanted} was expected"))
    }
}

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Error {
        let kind = match &source {
            StoreError::NotFound { .. } | StoreError::NoSuchPrefix { .. } => Kind::NotFound,
            StoreError::BadHash(_) | StoreError::AmbiguousPrefix { .. } => Kind::Usage,
            StoreError::Io { .. } => Kind::Io,
            _ => Kind::Data,
        };
        let mut error = Error::new(kind, source.to_string());
        if let StoreError::Corrupt { hash, .. } = &source {
            if *hash == json_cas::bootstrap::HASH || OWN_TYPES.iter().any(|own| own.hash == *hash) {
                error = error.hint("it is one of uwf's own types: `uwf recover` stores it again");
            }
            error = error.hint(format!("`uwf cas verify {hash}` checks it; putting the same content again repairs it"));
        }
        if let StoreError::Collision { hash } = &source {
            error = error.hint(format!("`uwf cas get {hash}` shows the other one, which is the file cas/{hash}.bin"));
        }
        if source.is_disk_full() {
            error = error.hint("free some space, then run the same command again: nothing was lost");
        }
        Error { source: Some(Box::new(source)), ..error }
    }
}

impl From<HeadsError> for Error {
    fn from(source: HeadsError) -> Error {
        let kind = match &source {
            HeadsError::Busy { .. } => Kind::Busy,
            HeadsError::Unreadable { .. } => Kind::Data,
            HeadsError::Io { .. } => Kind::Io,
            HeadsError::BadName { .. } | HeadsError::Removed { .. } | HeadsError::BadRecord { .. } => Kind::Internal,
        };
        let mut error = Error::new(kind, source.to_string());
        if let HeadsError::Unreadable { path, .. } = &source {
            error = error
                .hint(format!("nothing was changed; repair {} or restore it from a backup", path.display()))
                .hint("`uwf recover` makes it anew from the records of the threads; `uwf recover --dry-run` tells how");
        }
        if source.is_disk_full() {
            error = error.hint("free some space, then run the same command again: nothing was lost");
        }
        Error { source: Some(Box::new(source)), ..error }
    }
}

impl From<FileError> for Error {
    fn from(source: FileError) -> Error {
        let mut error = Error::new(Kind::Io, source.to_string());
        if source.is_disk_full() {
            error = error.hint("free some space, then run the same command again: nothing was lost");
        }
        Error { source: Some(Box::new(source)), ..error }
    }
}

/// Adds the path to an I/O error, with what was being done.
pub trait AtPath<T> {
    /// `action` completes "cannot … PATH".
    ///
    /// # Errors
    /// The same one, with the path in its message.
    fn at(self, action: &str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, action: &str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::io(action, &path.into(), source))
    }
}

/// An error as it crosses the process border between keeper and window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Which kind of failure.
    pub kind: Kind,
    /// One line.
    pub message: String,
    /// What to try next.
    pub hints: Vec<String>,
}

impl From<Error> for Told {
    fn from(error: Error) -> Told {
        Told { kind: error.kind, message: error.message, hints: error.hints }
    }
}

impl From<Told> for Error {
    fn from(told: Told) -> Error {
        Error { kind: told.kind, message: told.message, hints: told.hints, source: None }
    }
}
