//! Kinds of failure, and errors as one process sends them to another. Every layer records or sends them.

use serde::{Deserialize, Serialize};

use super::AttemptFailure;

/// The kind of a failure, for callers of the engine. The command turns it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The request makes no sense.
    Usage,
    /// A workflow, node or file contains bad data.
    Data,
    /// The requested object does not exist, or the thread is not active.
    NotFound,
    /// A bug in uwf.
    Internal,
    /// A file error: disk full, permissions, missing directories.
    Io,
    /// Another process is at work, or the head moved.
    Busy,
    /// The configuration is wrong.
    Config,
    /// The thread waits for a person, or is paused.
    Waiting,
    /// A limit or budget was hit.
    Limit,
    /// The agent failed.
    AgentFailed,
    /// The agent's answer could not be turned into the role's output.
    NotExtractable,
    /// Stopped by Ctrl-C.
    Interrupted,
    /// Stopped by TERM, HUP or `thread kill`.
    Terminated,
}

impl ErrorKind {
    /// Whether a read failure is temporary: caused by the disk, the store or other processes, not by the data. Denied access to a remote
    /// store counts as a configuration failure instead.
    pub fn is_of_the_moment(self) -> bool {
        matches!(self, ErrorKind::Io | ErrorKind::Busy | ErrorKind::Config)
    }

    /// Whether a failure to store an answer is not the agent's fault: it is temporary, or other processes added or removed nodes. Then
    /// the answer is read again, and the agent is not paid again.
    pub fn may_keep_later(self) -> bool {
        self.is_of_the_moment() || matches!(self, ErrorKind::Data | ErrorKind::NotFound)
    }

    /// Whether a signal stopped the command. Nothing failed, and the command can be repeated.
    pub fn is_stop(self) -> bool {
        matches!(self, ErrorKind::Interrupted | ErrorKind::Terminated)
    }

    /// The kind of failure with this exit code; `Internal` for any other code.
    #[must_use]
    pub fn of_exit_code(code: u8) -> ErrorKind {
        match code {
            20 => ErrorKind::Waiting,
            30 => ErrorKind::Limit,
            40 => ErrorKind::AgentFailed,
            41 => ErrorKind::NotExtractable,
            64 => ErrorKind::Usage,
            65 => ErrorKind::Data,
            69 => ErrorKind::NotFound,
            74 => ErrorKind::Io,
            75 => ErrorKind::Busy,
            78 => ErrorKind::Config,
            130 => ErrorKind::Interrupted,
            143 => ErrorKind::Terminated,
            _ => ErrorKind::Internal,
        }
    }

    /// The documented exit code for this kind of failure.
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

/// An error sent between a keeper and the command that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// One line.
    pub message: String,
    /// What to try next.
    pub hints: Vec<String>,
    /// Why an attempt failed, if that is known beside the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<AttemptFailure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_kinds_match() {
        let codes = (0..=u8::MAX).filter(|code| ErrorKind::of_exit_code(*code).exit_code() == *code);
        assert_eq!(codes.collect::<Vec<_>>(), [20, 30, 40, 41, 64, 65, 69, 70, 74, 75, 78, 130, 143]);
    }
}
