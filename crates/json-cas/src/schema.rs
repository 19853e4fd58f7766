//! JSON Schema (draft 2020-12): one validator for everything that is stored.
//!
//! No other module depends on the `jsonschema` crate.

mod applicators;
mod branches;
mod check;
mod describe;
mod document;
mod evaluate;
mod evaluated;
mod expansion;
mod key_order;
mod keywords;
mod long_enum;
mod messages;
mod problem;
mod refs;
mod violation;
mod violations;
mod warnings;

pub use check::{MAX_SCHEMA_DEPTH, check, is_remote_ref};
pub use problem::{SchemaProblem, SchemaSeverity};
pub(crate) use refs::ReferenceFinder;
pub use violation::{MAX_VIOLATIONS, SchemaViolation};

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use self::document::SchemaDocument;
use self::evaluate::{SchemaEvaluator, SchemaVerdict};
use crate::hash::NodeHash;

/// The format that makes a string a reference to a node.
const CAS_REF: &str = "cas_ref";

/// Maximum size of a compiled pattern, in bytes. `^.{1,1000}$` fits (`maxLength` counts without any pattern). Under the engine's own
/// limit, `((a{100}){100}){100}` takes a minute to compile, and matching takes longer the larger a pattern is.
const MAX_PATTERN_SIZE: usize = 1 << 20;

/// A compiled schema.
pub struct CompiledSchema {
    references: Arc<ReferenceFinder>,
    judge: PayloadValidator,
}

/// Decides whether a payload fits.
enum PayloadValidator {
    /// The validator, if its time is bounded by the sizes of schema and payload.
    Validator(Validator),
    /// The walk that examines no pair twice and gives up at [`evaluate::MAX_CHECKS`]. For schemas on which the validator may need
    /// exponential time.
    Bounded,
}

/// Why a value can't be used as a schema.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
#[error("bad schema: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SchemaError {
    /// The problems: at least one error, and no warnings.
    pub problems: Vec<SchemaProblem>,
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(self.value()).finish()
    }
}

impl CompiledSchema {
    /// Checks and compiles a schema. Formats are asserted, including `cas_ref`. References to anything outside the schema are rejected.
    ///
    /// # Errors
    /// [`SchemaError`] with every error that [`check`] finds.
    pub fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
        refuse_bad(schema)?;
        CompiledSchema::compile_stored(Arc::new(ReferenceFinder::new(schema.clone())))
    }

    /// Compiles a schema that was checked when it was put.
    pub(crate) fn compile_stored(references: Arc<ReferenceFinder>) -> Result<CompiledSchema, SchemaError> {
        let value = references.value();
        if let Some(problem) = expansion::unjudgeable(value) {
            return Err(SchemaError { problems: vec![problem] });
        }
        if expansion::is_unbounded(value) {
            return Ok(CompiledSchema { references, judge: PayloadValidator::Bounded });
        }
        match validator_options().build(value) {
            Ok(validator) => Ok(CompiledSchema { references, judge: PayloadValidator::Validator(validator) }),
            Err(error) => Err(SchemaError {
                problems: vec![SchemaProblem::error(error.instance_path().to_string(), error.to_string())],
            }),
        }
    }

    /// The schema. Keys of `properties` that `required` names come first, in the order of `required`, because the store keeps the author's
    /// order of lists but not of maps.
    pub fn value(&self) -> &Value {
        self.references.value()
    }

    pub(crate) fn references(&self) -> &Arc<ReferenceFinder> {
        &self.references
    }

    /// The schema's `title`.
    pub fn title(&self) -> Option<&str> {
        self.value().get("title")?.as_str()
    }

    /// Whether a payload fits. `false` as well if the schema allows for more than a million comparisons and the payload needs them.
    pub fn is_valid(&self, payload: &Value) -> bool {
        self.verdict(payload) == SchemaVerdict::Fits
    }

    fn verdict(&self, payload: &Value) -> SchemaVerdict {
        match &self.judge {
            PayloadValidator::Validator(validator) if validator.is_valid(payload) => SchemaVerdict::Fits,
            PayloadValidator::Validator(_) => SchemaVerdict::Faulty,
            PayloadValidator::Bounded => SchemaEvaluator::decide(&SchemaDocument::new(self.value()), payload),
        }
    }

    /// Every way in which a payload does not fit, in words that a person or a model can act on. Empty if it fits.
    pub fn violations(&self, payload: &Value) -> Vec<SchemaViolation> {
        match self.verdict(payload) {
            SchemaVerdict::Fits => Vec::new(),
            SchemaVerdict::Faulty => violations::find_violations(self.value(), payload),
            SchemaVerdict::Unknown => vec![violations::too_much()],
        }
    }

    /// The references in a payload: see [`crate::Store::refs`].
    pub fn refs(&self, payload: &Value) -> Vec<NodeHash> {
        self.references.find_in(payload)
    }
}

/// Rejects a schema with errors.
pub(crate) fn refuse_bad(schema: &Value) -> Result<(), SchemaError> {
    let mut problems = check(schema);
    problems.retain(|problem| problem.severity == SchemaSeverity::Error);
    if problems.is_empty() { Ok(()) } else { Err(SchemaError { problems }) }
}

/// Options for compiling any schema: draft 2020-12 unless the schema names another, formats asserted (the draft makes them annotations),
/// patterns in linear time, no network access.
fn validator_options<'i>() -> ValidationOptions<'i> {
    jsonschema::options()
        .with_format(CAS_REF, NodeHash::is_hash)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_SIZE))
        .offline()
}
