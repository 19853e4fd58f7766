//! Validation errors in words that a person or a model can act on.

use std::fmt;

use jsonschema::meta::MetaValidator;
use serde_json::Value;

use super::document::Document;
use super::evaluate::{Evaluator, MAX_CHECKS};
use super::leaf;

/// Most violations told of one payload.
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

/// The violations of a payload that was found not to fit.
pub(super) fn of(schema: &Value, payload: &Value) -> Vec<Violation> {
    let document = Document::new(schema);
    let mut violations = Evaluator::explain(&document, payload);
    if violations.is_empty() {
        // What decides may see more than the explanation, which is then still told.
        violations.push(of_all("does not fit the schema".to_owned()));
    }
    violations
}

/// The violation of a payload that has too much in it to be compared with its schema.
pub(super) fn too_much() -> Violation {
    of_all(format!("too much to check: comparing it with this schema takes more than {MAX_CHECKS} comparisons"))
}

fn of_all(message: String) -> Violation {
    Violation { path: String::new(), keyword: String::new(), message }
}

/// The violations of a schema under its meta-schema.
pub(super) fn of_meta_schema(meta: &MetaValidator<'_>, schema: &Value) -> Vec<Violation> {
    meta.iter_errors(schema)
        .take(MAX_VIOLATIONS)
        .map(|error| Violation {
            path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message: leaf::message(&error),
        })
        .collect()
}
