//! What a command fails with: the engine's error, at the edge.

use json_cas::StoreError;
use uwf_engine::error::{Error, Kind};

/// A failed command: which kind, why, and what to try next.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Decides the exit code.
    pub(crate) kind: Kind,
    /// Why, without the leading "error:".
    pub(crate) error: String,
    /// What to try next.
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    /// A misuse of the command line.
    pub(crate) fn usage(error: impl Into<String>) -> CommandError {
        CommandError { kind: Kind::Usage, error: error.into(), hints: Vec::new() }
    }

    /// Adds what to try next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> CommandError {
        CommandError { kind: error.kind, error: error.message, hints: error.hints }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        Error::from(error).into()
    }
}
