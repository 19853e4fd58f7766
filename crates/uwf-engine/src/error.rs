//! The engine's error: the failed operation and its object, the kind of failure, and what to try next.
//!
//! Each error is worded where it happens. The enums are for decisions in code: [`ErrorKind`] for callers, [`ErrorCause`] for the few
//! failures that the engine handles itself.

use std::io;
use std::path::Path;

use durable_files::regular::RegularFileError;
use json_cas::{NodeHash, StoreError};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::ownership::owner;

mod attempt_failure;
mod kind;
mod libraries;

pub use self::attempt_failure::AttemptFailure;
pub use self::kind::{ErrorKind, SentError};

/// Hint for a full disk.
const FREE_SPACE: &str = "free some space, then run the same command again: nothing was lost";

/// A failure of the engine. `hints` say what to try next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The failed operation, its object and the reason; one line, lower case.
    pub message: String,
    /// Next steps for the person, one line each.
    pub hints: Vec<String>,
    /// The cause, if code handles it.
    pub cause: Option<ErrorCause>,
    /// The underlying error.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The few failures that code handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorCause {
    /// The settings in the record of a thread are damaged.
    DamagedSettings,
    /// This machine has no record of a thread's workspace.
    UnknownWorkspace,
    /// The conditions of a workflow cannot be evaluated.
    Unroutable,
    /// A thread has ended.
    Ended,
    /// The note about a thread's worktree can't be used.
    StrangeNote,
    /// The program `git` is missing.
    NoGit,
    /// Git ran and failed.
    GitFailed,
    /// A directory is not in a working tree of a repository.
    NoWorkingTree,
    /// A directory is no longer a working tree of its repository.
    OtherRepository,
    /// An attempt failed, and more is known about it than the message says.
    Attempt(AttemptFailure),
    /// A person has already answered the question.
    Answered(Box<EarlierAnswer>),
}

/// The answer that came first. Reports have it as `answered` of their error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierAnswer {
    /// Its author, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Unix milliseconds.
    pub at: u64,
}

/// The end of a hint. Hints are recorded with a failed attempt, and its cause is not.
const RUNS_AGAIN: &str = "runs the agent again";

/// The same.
const PLAYS_AGAIN: &str = "plays this entry again";

/// The same.
const TAKES_TEXT: &str = "takes that text as its answer";

/// Result of engine functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure without hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hints: Vec::new(), cause: None, source: None }
    }

    /// The request makes no sense.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, message)
    }

    /// A workflow, node or file contains bad data.
    pub fn data(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Data, message)
    }

    /// The requested object does not exist.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotFound, message)
    }

    /// A bug in uwf.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// A file error: disk full, permissions, missing directories.
    pub fn io(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Io, message)
    }

    /// Another process is at work, or the head moved.
    pub fn busy(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Busy, message)
    }

    /// The configuration is wrong.
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

    /// The agent's answer could not be turned into the role's output.
    pub fn not_extractable(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotExtractable, message)
    }

    /// Adds the hint that only another run of the agent helps.
    #[must_use]
    pub fn needs_another_run(self, thread: &str) -> Error {
        self.hint(format!("`uwf thread step {thread}` {RUNS_AGAIN}"))
    }

    /// Adds the hint that the agent's last text, which the message quotes, can be taken as its answer.
    #[must_use]
    pub fn offers_last_text(self, thread: &str) -> Error {
        self.hint(format!("`uwf thread step {thread} --reextract` {TAKES_TEXT}"))
    }

    /// Whether a hint already says how an unreadable answer can be followed by another one.
    pub(crate) fn names_next_answer(&self) -> bool {
        let ends = [RUNS_AGAIN, PLAYS_AGAIN, TAKES_TEXT];
        self.hints.iter().any(|hint| ends.iter().any(|end| hint.ends_with(end)))
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// Adds hints.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Error {
        self.hints.extend(hints);
        self
    }

    /// Adds the cause, for code that handles it.
    #[must_use]
    pub(crate) fn with_cause(self, cause: ErrorCause) -> Error {
        Error { cause: Some(cause), ..self }
    }

    /// Adds the underlying error.
    #[must_use]
    pub(crate) fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { source: Some(Box::new(source)), ..self }
    }

    /// A failed operation on a file; `action` completes "cannot … PATH".
    pub fn file(action: &str, path: impl AsRef<Path>, source: io::Error) -> Error {
        let path = path.as_ref();
        Error::io(format!("cannot {action} {}: {source}", path.display()))
            .hints(file_hint(path, &source))
            .with_source(source)
    }

    /// The answer that came first, if that is the failure.
    pub fn earlier_answer(&self) -> Option<&EarlierAnswer> {
        match &self.cause {
            Some(ErrorCause::Answered(answer)) => Some(answer),
            _ => None,
        }
    }

    /// The missing node, if that is the failure.
    pub(crate) fn missing_node(&self) -> Option<NodeHash> {
        match self.source.as_deref()?.downcast_ref()? {
            StoreError::NotFound { hash } => Some(*hash),
            _ => None,
        }
    }

    /// Whether a remote store could not be used.
    pub fn is_remote(&self) -> bool {
        self.source.as_deref().is_some_and(|source| libraries::is_remote(source))
    }

    /// Whether the object is damaged, so that a retry does not help: its data is bad, its file is missing, or another kind of object is
    /// in the file's place. Any other read error does not show whether the object is intact.
    pub fn is_damage(&self) -> bool {
        if self.is_remote() {
            return false;
        }
        let mut cause = self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static));
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return is_damage(error);
            }
            cause = error.source();
        }
        self.kind != ErrorKind::Io
    }
}

/// Adds the path and the operation to an I/O error.
pub trait AtPath<T> {
    /// `action` completes "cannot … PATH".
    fn path_context(self, action: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn path_context(self, action: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::file(action, path, source))
    }
}

/// Whether a file cannot be read because it is missing, or because another kind of object is in its place. A retry does not help then.
/// Any other read error does not show whether the file is intact.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    let of_place = [Errno::NOENT, Errno::ISDIR, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];
    RegularFileError::from_io_error(error).is_some()
        || Errno::from_io_error(error).is_some_and(|errno| of_place.contains(&errno))
}

fn file_hint(path: &Path, source: &io::Error) -> Option<String> {
    match source.kind() {
        io::ErrorKind::StorageFull => Some(FREE_SPACE.to_owned()),
        io::ErrorKind::PermissionDenied => {
            let there = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path);
            Some(format!("{} belongs to {}", there.display(), owner(there)))
        }
        _ => None,
    }
}

impl From<Error> for SentError {
    fn from(error: Error) -> SentError {
        SentError { failure: error.failure(), kind: error.kind, message: error.message, hints: error.hints }
    }
}

impl From<SentError> for Error {
    fn from(sent: SentError) -> Error {
        let cause = sent.failure.map(ErrorCause::Attempt);
        Error { kind: sent.kind, message: sent.message, hints: sent.hints, cause, source: None }
    }
}
