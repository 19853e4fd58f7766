//! JSON Schema (draft 2020-12): one validator for everything that is stored.
//!
//! This is the only place that knows the `jsonschema` crate.

mod applicators;
mod branches;
mod check;
mod document;
mod evaluate;
mod expansion;
mod keywords;
mod leaf;
mod nearest;
mod refs;
mod seen;
mod violations;
mod words;

pub use check::{MAX_SCHEMA_DEPTH, SchemaProblem, Severity, check, is_remote_ref};
pub use expansion::{MAX_EXPANDED_REFS, MAX_REF_DEPTH};
pub(crate) use refs::References;
pub use violations::{MAX_VIOLATIONS, Violation};

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use crate::hash::Hash;
use crate::store::StoreError;

/// The format that makes a string a reference to a node.
pub const CAS_REF: &str = "cas_ref";

/// A compiled schema.
pub struct Schema {
    references: Arc<References>,
    validator: Validator,
}

/// Why a value cannot be used as a schema.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
#[error("bad schema: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SchemaError {
    /// What is wrong, at least one error; no warnings.
    pub problems: Vec<SchemaProblem>,
}

impl From<SchemaError> for StoreError {
    fn from(error: SchemaError) -> StoreError {
        StoreError::BadSchema { problems: error.problems }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(self.value()).finish()
    }
}

impl Schema {
    /// Checks and compiles a schema. Formats are asserted, [`CAS_REF`] among them; a reference to
    /// anything outside the schema is refused.
    ///
    /// # Errors
    /// [`SchemaError`] with every error that [`check`] finds.
    pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
        let mut problems = check(schema);
        problems.retain(|problem| problem.severity == Severity::Error);
        if !problems.is_empty() {
            return Err(SchemaError { problems });
        }
        Schema::compile_stored(Arc::new(References::new(Arc::new(schema.clone()))))
    }

    /// Compiles a schema that was checked when it was put.
    pub(crate) fn compile_stored(references: Arc<References>) -> Result<Schema, SchemaError> {
        match options().build(references.value()) {
            Ok(validator) => Ok(Schema { references, validator }),
            Err(error) => Err(SchemaError {
                problems: vec![SchemaProblem::error(error.instance_path().to_string(), error.to_string())],
            }),
        }
    }

    /// The schema as it was given.
    pub fn value(&self) -> &Value {
        self.references.value()
    }

    pub(crate) fn references(&self) -> &Arc<References> {
        &self.references
    }

    /// The schema's `title`.
    pub fn title(&self) -> Option<&str> {
        self.value().get("title")?.as_str()
    }

    /// Whether a payload fits.
    pub fn is_valid(&self, payload: &Value) -> bool {
        self.validator.is_valid(payload)
    }

    /// Every way in which a payload does not fit, in words that a person or a model can act on.
    /// Empty when it fits.
    pub fn violations(&self, payload: &Value) -> Vec<Violation> {
        if self.is_valid(payload) {
            return Vec::new();
        }
        violations::of(self.value(), payload)
    }

    /// The references in a payload: see [`crate::Store::refs`].
    pub fn refs(&self, payload: &Value) -> Vec<Hash> {
        self.references.of(payload)
    }
}

/// How everything here is compiled: draft 2020-12 unless the schema names another, formats
/// asserted (the draft makes them notes), patterns in linear time, nothing fetched.
fn options<'i>() -> ValidationOptions<'i> {
    jsonschema::options()
        .with_format(CAS_REF, Hash::is_hash)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
}
