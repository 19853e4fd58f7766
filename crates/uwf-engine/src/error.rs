//! The engine's error: what was being done to what, and which kind of failure it is.
//!
//! Each room below the verbs has an enum beside its code: [`RootError`], [`ThreadError`](crate::thread::error::ThreadError),
//! [`AttemptError`](crate::attempt::error::AttemptError). It becomes an [`Error`] when it is shown to somebody.

use json_cas::{Hash, RemoteError, StoreError};

pub use crate::root::error::AtPath;
use crate::root::error::{RootError, is_damage};

pub use crate::error_kind::{ErrorKind, SentError};

mod conversion;

/// A failure of the engine. `hints` say what to try next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Which kind of failure.
    pub kind: ErrorKind,
    /// What was being done to what, and why it failed; one line, lower case.
    pub message: String,
    /// What to try next, each one line.
    pub hints: Vec<String>,
    /// What code decides on, if it does.
    pub cause: Option<ErrorCause>,
    /// The underlying error.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The few failures after which code continues in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCause {
    /// The settings in the record of a thread are damaged.
    DamagedSettings,
    /// This machine has no record of where a thread works.
    UnknownWorkspace,
    /// The conditions of a workflow cannot be evaluated.
    Unroutable,
    /// There is no program `git`.
    NoGit,
}

/// What engine functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure without hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hints: Vec::new(), cause: None, source: None }
    }

    /// Asked for in a way that makes no sense.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, message)
    }

    /// A workflow, node or file holds bad data.
    pub fn data(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Data, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotFound, message)
    }

    /// A bug in uwf.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// Files: disk full, permissions, missing directories.
    pub fn io(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Io, message)
    }

    /// Another process is at work, or the head moved.
    pub fn busy(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Busy, message)
    }

    /// The configuration.
    pub fn config(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Config, message)
    }

    /// The thread waits for a person, or is paused.
    pub fn waiting(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Waiting, message)
    }

    /// A limit or budget was hit.
    pub fn limit(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Limit, message)
    }

    /// The agent failed.
    pub fn agent_failed(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::AgentFailed, message)
    }

    /// Adds what to try next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// Adds what to try next, if anything.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Error {
        self.hints.extend(hints);
        self
    }

    /// Adds what code decides on.
    #[must_use]
    pub(crate) fn with_cause(self, cause: ErrorCause) -> Error {
        Error { cause: Some(cause), ..self }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { source: Some(Box::new(source)), ..self }
    }

    /// A failed operation on a file.
    pub fn file(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
        RootError::file(action, path, source).into()
    }

    /// The node that is missing, if that is the failure.
    pub(crate) fn missing_node(&self) -> Option<Hash> {
        match self.source.as_deref()?.downcast_ref()? {
            StoreError::NotFound { hash } => Some(*hash),
            _ => None,
        }
    }

    /// Whether something is damaged, so that trying again does not help: its data are bad, its file is missing, or something
    /// else is in the file's place. Any other failure to read does not say what is there.
    pub fn is_damage(&self) -> bool {
        let mut cause = self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static));
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                return is_damage(error);
            }
            if error.is::<RemoteError>() {
                return false;
            }
            cause = error.source();
        }
        self.kind != ErrorKind::Io
    }
}

impl From<Error> for SentError {
    fn from(error: Error) -> SentError {
        SentError { kind: error.kind, message: error.message, hints: error.hints }
    }
}

impl From<SentError> for Error {
    fn from(sent: SentError) -> Error {
        Error { kind: sent.kind, message: sent.message, hints: sent.hints, cause: None, source: None }
    }
}
