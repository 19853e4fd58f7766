//! Problems of schemas.

use std::fmt;

/// Something in a schema that is wrong or looks wrong.
#[derive(Debug, Clone, Eq, PartialEq, serde::Serialize)]
pub struct SchemaProblem {
    /// JSON pointer into the schema; empty for the root.
    pub path: String,
    /// The problem in words.
    pub message: String,
    /// Whether the schema can be used.
    pub severity: SchemaSeverity,
}

/// The severity of a problem.
#[derive(Debug, Copy, Clone, Eq, PartialEq, Ord, PartialOrd, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaSeverity {
    /// The schema can't be used.
    Error,
    /// The schema can be used, but may not mean what its author thinks.
    Warning,
    /// Nothing is wrong; the author may want to know.
    Note,
}

impl SchemaSeverity {
    /// `error`, `warning` or `note`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SchemaSeverity::Error => "error",
            SchemaSeverity::Warning => "warning",
            SchemaSeverity::Note => "note",
        }
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl SchemaProblem {
    pub(super) fn error(path: impl Into<String>, message: impl Into<String>) -> SchemaProblem {
        SchemaProblem { path: path.into(), message: message.into(), severity: SchemaSeverity::Error }
    }

    pub(super) fn warning(path: impl Into<String>, message: impl Into<String>) -> SchemaProblem {
        SchemaProblem { severity: SchemaSeverity::Warning, ..SchemaProblem::error(path, message) }
    }

    pub(super) fn note(path: impl Into<String>, message: impl Into<String>) -> SchemaProblem {
        SchemaProblem { severity: SchemaSeverity::Note, ..SchemaProblem::error(path, message) }
    }
}
