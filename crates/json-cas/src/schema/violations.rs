//! Validation errors in words that a person or a model can act on.

use std::fmt;

use jsonschema::Validator;
use jsonschema::meta::MetaValidator;
use serde_json::Value;

use super::document::Document;
use super::explain::Explainer;

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
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// The violations of `payload` under a schema.
pub(super) fn of(schema: &Value, validator: &Validator, payload: &Value) -> Vec<Violation> {
    explained(schema, validator.iter_errors(payload))
}

/// The violations of a schema under its meta-schema.
pub(super) fn of_meta_schema(meta: &MetaValidator<'_>, schema: &Value) -> Vec<Violation> {
    // What the meta-schemas say is told without looking into them.
    explained(&Value::Bool(true), meta.iter_errors(schema))
}

fn explained<'e>(
    schema: &Value,
    errors: impl Iterator<Item = jsonschema::ValidationError<'e>>,
) -> Vec<Violation> {
    let document = Document::new(schema);
    let mut explainer = Explainer::new(&document);
    for error in errors.take(MAX_VIOLATIONS) {
        explainer.add(&error);
    }
    let mut violations = explainer.violations;
    violations.truncate(MAX_VIOLATIONS);
    violations
}
