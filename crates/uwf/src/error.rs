//! The error of a command, converted from the engine's error.

use serde_json::{Map, Value, json};
use uwf_engine::error::{EarlierAnswer, Error, ErrorKind};

/// A failed command: the kind of failure, the reason, and what to try next.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Decides the exit code.
    pub(crate) kind: ErrorKind,
    /// The reason, without the leading "error:".
    pub(crate) error: String,
    /// Next steps to try.
    pub(crate) hints: Vec<String>,
    /// Data that is known despite the failure, such as the thread's state; printed as JSON beside the error.
    pub(crate) known: Vec<(String, Value)>,
    /// When the thread can continue, Unix milliseconds: at the end of a usage limit, or at `askTimeout` of a question.
    pub(crate) until: Option<u64>,
    /// For a question that has an answer: that answer.
    pub(crate) answered: Option<Box<EarlierAnswer>>,
}

impl CommandError {
    /// A wrong use of the command line.
    pub(crate) fn usage(error: impl Into<String>) -> CommandError {
        CommandError::new(ErrorKind::Usage, error)
    }

    /// A failure without hints.
    pub(crate) fn new(kind: ErrorKind, error: impl Into<String>) -> CommandError {
        CommandError { kind, error: error.into(), hints: Vec::new(), known: Vec::new(), until: None, answered: None }
    }

    /// The error for a feature that only builds with Temporal have.
    #[cfg(not(feature = "temporal"))]
    pub(crate) fn without_temporal() -> CommandError {
        CommandError::new(ErrorKind::Config, "this uwf was built without engines")
            .hint("`cargo install uwf --features temporal` has Temporal")
    }

    /// Adds the entries of an object as known data.
    pub(crate) fn knowing(mut self, known: Value) -> CommandError {
        if let Value::Object(known) = known {
            self.known.extend(known);
        }
        self
    }

    /// The error as JSON: `{error: {kind, message, hints, exitCode}, …known data}`.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = Map::from_iter([("error".to_owned(), self.as_entry())]);
        object.extend(self.known.clone());
        Value::Object(object)
    }

    /// The entry `error` of that object, for a report that includes one.
    pub(crate) fn as_entry(&self) -> Value {
        let mut entry = json!({
            "kind": self.kind,
            "message": self.error,
            "hints": self.hints,
            "exitCode": self.kind.exit_code(),
        });
        if let Some(until) = self.until {
            entry["until"] = until.into();
        }
        if let Some(answered) = &self.answered {
            entry["answered"] = json!(answered);
        }
        entry
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }
}

impl<E: Into<Error>> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        let error = error.into();
        let (until, answered) = (error.limit_end(), error.earlier_answer().cloned().map(Box::new));
        CommandError { hints: error.hints, until, answered, ..CommandError::new(error.kind, error.message) }
    }
}
