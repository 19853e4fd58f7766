//! The engine's error: what was being done to what, and which kind of failure it is.
//!
//! What the storage root and reading threads fail with is an enum beside their code, [`RootError`] and
//! [`ThreadError`](crate::thread::error::ThreadError). It becomes an [`Error`] when it is told to somebody.

use serde::{Deserialize, Serialize};

pub use crate::root::error::AtPath;
use crate::root::error::{RootError, is_damage};

mod conversion;

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
pub type Result<T, E = Error> = std::result::Result<T, E>;

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
    pub fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
        RootError::file(action, path, source).into()
    }

    /// Whether this is because something is not what it should be, and will be so at the next try: bad data, a missing file,
    /// one of another kind. Any other failure to read says nothing of what there is to read.
    pub fn is_damage(&self) -> bool {
        let mut cause = self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static));
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                return is_damage(error);
            }
            cause = error.source();
        }
        self.kind != Kind::Io
    }
}

/// An error as it crosses the process border between keeper and window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentError {
    /// Which kind of failure.
    pub kind: Kind,
    /// One line.
    pub message: String,
    /// What to try next.
    pub hints: Vec<String>,
}

impl From<Error> for SentError {
    fn from(error: Error) -> SentError {
        SentError { kind: error.kind, message: error.message, hints: error.hints }
    }
}

impl From<SentError> for Error {
    fn from(sent: SentError) -> Error {
        Error { kind: sent.kind, message: sent.message, hints: sent.hints, source: None }
    }
}
