//! One way in which a payload does not fit.

use std::fmt;
use std::rc::Rc;

/// Most violations reported of one payload.
pub const MAX_VIOLATIONS: usize = 50;

/// One way in which a payload does not fit a schema.
#[derive(Debug, Clone, Eq, PartialEq, serde::Serialize)]
pub struct Violation {
    /// JSON pointer into the payload; empty for the root.
    pub path: String,
    /// The schema keyword that failed.
    pub keyword: String,
    /// What does not fit and what would.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

/// A violation, and what it says about which of several alternatives was meant.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) violation: Violation,
    pub(super) kind: FindingKind,
}

impl Finding {
    pub(super) fn new(path: &str, keyword: &str, message: String, kind: FindingKind) -> Finding {
        Finding { violation: Violation { path: path.to_owned(), keyword: keyword.to_owned(), message }, kind }
    }
}

/// What kind of violation it is, as far as it helps to distinguish alternatives.
#[derive(Debug, Clone, Eq, PartialEq)]
pub(super) enum FindingKind {
    /// The value is of another type than these, each with its article.
    Type(Vec<String>),
    /// The value is not the one wanted, or not one of those wanted.
    Value,
    /// Only null would do.
    Null,
    /// Anything else.
    Other,
}

/// What was found for one pair; shared, as a pair is met on many ways.
pub(super) type Findings = Rc<Vec<Finding>>;
