//! What a command fails with: the engine's error, at the edge.

use serde_json::{Map, Value, json};
use uwf_engine::error::{Error, ErrorKind};

/// A failed command: which kind, why, and what to try next.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Decides the exit code.
    pub(crate) kind: ErrorKind,
    /// Why, without the leading "error:".
    pub(crate) error: String,
    /// What to try next.
    pub(crate) hints: Vec<String>,
    /// What is known all the same, such as where the thread stands; printed as JSON beside the error.
    pub(crate) known: Vec<(String, Value)>,
}

impl CommandError {
    /// A misuse of the command line.
    pub(crate) fn usage(error: impl Into<String>) -> CommandError {
        CommandError::new(ErrorKind::Usage, error)
    }

    /// A failure without hints.
    pub(crate) fn new(kind: ErrorKind, error: impl Into<String>) -> CommandError {
        CommandError { kind, error: error.into(), hints: Vec::new(), known: Vec::new() }
    }

    /// The refusal of what only a build with Temporal does.
    #[cfg(not(feature = "temporal"))]
    pub(crate) fn without_temporal() -> CommandError {
        CommandError::new(ErrorKind::Config, "this uwf was built without engines")
            .hint("`cargo install uwf --features temporal` has Temporal")
    }

    /// Adds what is known all the same: the entries of an object.
    pub(crate) fn knowing(mut self, known: Value) -> CommandError {
        if let Value::Object(known) = known {
            self.known.extend(known);
        }
        self
    }

    /// The failure as programs read it: `{error: {kind, message, hints, exitCode}, …what is known}`.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = Map::from_iter([("error".to_owned(), self.as_entry())]);
        object.extend(self.known.clone());
        Value::Object(object)
    }

    /// The entry `error` of that object, for a report that has one.
    pub(crate) fn as_entry(&self) -> Value {
        json!({
            "kind": self.kind,
            "message": self.error,
            "hints": self.hints,
            "exitCode": self.kind.exit_code(),
        })
    }

    /// Adds what to try next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }
}

impl<E: Into<Error>> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        let Error { kind, message, hints, .. } = error.into();
        CommandError { hints, ..CommandError::new(kind, message) }
    }
}
