//! A condition: compiled, classified, and asked what it reads.

use super::Reads;
use super::analysis::{Class, Comparison, ConditionError, FieldRead};
use super::jsonata::{self, Finding, Program};

/// The longest expression accepted, in bytes. Conditions people write are under 1 KB; analysing one is linear
/// in its length, so this keeps every later step cheap.
const MAX_EXPRESSION_BYTES: usize = 64 * 1024;

/// A compiled condition. Cheap to keep, `Send` and `Sync`.
#[derive(Debug)]
pub struct Condition {
    source: String,
    pub(super) program: Program,
    class: Class,
    reads: Reads,
    fields: Vec<FieldRead>,
    findings: Vec<Finding>,
    comparisons: Vec<Comparison>,
}

impl Condition {
    /// Parses an expression and finds out what it may cost and what it reads.
    ///
    /// # Errors
    /// The expression does not parse, is too long, calls a function that does not exist, or uses something
    /// a decision must not: `$now`, `$millis`, `$random`, `$shuffle`, `$eval`, the `@` and `#` bindings.
    pub fn compile(expression: &str) -> Result<Condition, ConditionError> {
        if expression.len() > MAX_EXPRESSION_BYTES {
            return Err(ConditionError {
                expression: expression.to_owned(),
                message: format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", expression.len()),
                code: None,
                position: None,
                hint: Some("let an agent work it out and route on its output".into()),
            });
        }
        let analysis = jsonata::analyse(expression)?;
        Ok(Condition {
            source: expression.to_owned(),
            program: analysis.program,
            class: analysis.class,
            reads: analysis.reads,
            fields: analysis.fields,
            findings: analysis.findings,
            comparisons: analysis.comparisons,
        })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it may be evaluated.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// What must be loaded before it can be evaluated.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The fields of roles' outputs it reads, sorted, as far as the role is known.
    #[must_use]
    pub fn field_reads(&self) -> Vec<FieldRead> {
        self.fields.clone()
    }

    /// Comparisons of roles and fields with values that are written out, in source order.
    #[must_use]
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Traps in the expression, in words for its author, when nothing is known about the roles' schemas.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_given(|_| None)
    }

    /// Traps in the expression, given whether a field can be missing: `None` when that is not known. A field
    /// known to be always there silences `$not(field)`; one known to be optional brings up `field != x`.
    #[must_use]
    pub fn warnings_given(&self, can_be_missing: impl Fn(&FieldRead) -> Option<bool>) -> Vec<String> {
        self.findings
            .iter()
            .filter(|finding| match finding {
                Finding::Certain { .. } => true,
                Finding::Negated { field, .. } => field.as_ref().and_then(&can_be_missing) != Some(false),
                Finding::Unequal { field, .. } => can_be_missing(field) == Some(true),
            })
            .map(Finding::message)
            .collect()
    }
}
