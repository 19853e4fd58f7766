//! One way in which a payload does not fit.

use std::fmt;
use std::rc::Rc;

/// Most violations reported for one payload.
pub const MAX_VIOLATIONS: usize = 50;

/// One way in which a payload does not fit a schema.
#[derive(Debug, Clone, Eq, PartialEq, serde::Serialize)]
pub struct SchemaViolation {
    /// JSON pointer into the payload; empty for the root.
    pub path: String,
    /// The schema keyword that failed.
    pub keyword: String,
    /// The fault, and what would fit instead.
    pub message: String,
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

/// A violation, and what it reveals about which alternative was meant.
#[derive(Debug, Clone)]
pub(super) struct SchemaFinding {
    pub(super) violation: SchemaViolation,
    pub(super) kind: FindingKind,
}

impl SchemaFinding {
    pub(super) fn new(path: &str, keyword: &str, message: String, kind: FindingKind) -> SchemaFinding {
        SchemaFinding {
            violation: SchemaViolation { path: path.to_owned(), keyword: keyword.to_owned(), message },
            kind,
        }
    }
}

/// The kind of a violation, as far as it helps to distinguish alternatives.
#[derive(Debug, Clone, Eq, PartialEq)]
pub(super) enum FindingKind {
    /// The value has none of these types, each with its article.
    Type(Vec<String>),
    /// The value is not the required one, or not among the allowed ones.
    Value,
    /// Only null is allowed.
    Null,
    /// Anything else.
    Other,
}

/// The findings for one pair; shared, because a pair is reached in many ways.
pub(super) type Findings = Rc<Vec<SchemaFinding>>;
