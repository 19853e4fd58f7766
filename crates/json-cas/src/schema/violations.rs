//! Validation errors in words that a person or a model can act on.

use jsonschema::meta::MetaValidator;
use serde_json::Value;

use super::document::SchemaDocument;
use super::evaluate::{MAX_CHECKS, SchemaEvaluator};
use super::messages;
use super::violation::{MAX_VIOLATIONS, SchemaViolation};

/// The violations of a payload that does not fit.
pub(super) fn find_violations(schema: &Value, payload: &Value) -> Vec<SchemaViolation> {
    let document = SchemaDocument::new(schema);
    let mut violations = SchemaEvaluator::explain(&document, payload);
    if violations.is_empty() {
        // The validator may find more than the explanation does. Then report at least this.
        violations.push(of_all("does not fit the schema".to_owned()));
    }
    violations
}

/// The violation of a payload that is too large to compare with its schema.
pub(super) fn too_much() -> SchemaViolation {
    of_all(format!("too much to check: comparing it with this schema takes more than {MAX_CHECKS} comparisons"))
}

fn of_all(message: String) -> SchemaViolation {
    SchemaViolation { path: String::new(), keyword: String::new(), message }
}

/// The violations of a schema under its meta-schema.
pub(super) fn of_meta_schema(meta: &MetaValidator<'_>, schema: &Value) -> Vec<SchemaViolation> {
    meta.iter_errors(schema)
        .take(MAX_VIOLATIONS)
        .map(|error| SchemaViolation {
            path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message: messages::message(&error),
        })
        .collect()
}
