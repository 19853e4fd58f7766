//! Which kind of failure something is, and an error as it is sent from one process to another. Every room records or sends them.

use serde::{Deserialize, Serialize};

/// What a failure means to whoever drives the engine. The command turns it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
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

impl ErrorKind {
    /// Whether a failure to read says something about the disk, the store or others at this moment, and nothing about what was to be
    /// read. A store elsewhere that lets nobody in is a failure of the configuration.
    pub fn is_of_the_moment(self) -> bool {
        matches!(self, ErrorKind::Io | ErrorKind::Busy | ErrorKind::Config)
    }

    /// Whether a failure to keep an answer is none of the agent's: of the moment, or of nodes that others put or took away. The answer
    /// is read again then, and the agent is not paid again.
    pub fn may_keep_later(self) -> bool {
        self.is_of_the_moment() || matches!(self, ErrorKind::Data | ErrorKind::NotFound)
    }

    /// Whether a signal stopped the command. Nothing failed, and the command can be repeated.
    pub(crate) fn is_stop(self) -> bool {
        matches!(self, ErrorKind::Interrupted | ErrorKind::Terminated)
    }

    /// The documented exit code of a process that fails like this.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Waiting => 20,
            ErrorKind::Limit => 30,
            ErrorKind::AgentFailed => 40,
            ErrorKind::NotExtractable => 41,
            ErrorKind::Usage => 64,
            ErrorKind::Data => 65,
            ErrorKind::NotFound => 69,
            ErrorKind::Internal => 70,
            ErrorKind::Io => 74,
            ErrorKind::Busy => 75,
            ErrorKind::Config => 78,
            ErrorKind::Interrupted => 130,
            ErrorKind::Terminated => 143,
        }
    }
}

/// An error as it crosses the process border between keeper and window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentError {
    /// Which kind of failure.
    pub kind: ErrorKind,
    /// One line.
    pub message: String,
    /// What to try next.
    pub hints: Vec<String>,
}
