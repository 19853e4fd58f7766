//! A condition: compiled, classified, and asked what it reads.

use super::Reads;
use super::analysis::{Class, Comparison, ConditionError, FieldRead};
use super::jsonata::{self, Analysis, Program};

/// The longest expression accepted, in bytes. Conditions people write are under 1 KB; analysing one is linear
/// in its length, so this keeps every later step cheap.
const MAX_EXPRESSION_BYTES: usize = 64 * 1024;

/// A compiled condition. Cheap to keep, `Send` and `Sync`.
#[derive(Debug)]
pub struct Condition {
    source: String,
    analysis: Analysis,
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
        Ok(Condition { source: expression.to_owned(), analysis: jsonata::analyse(expression)? })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn program(&self) -> &Program {
        &self.analysis.program
    }

    /// Where it may be evaluated.
    #[must_use]
    pub fn class(&self) -> Class {
        self.analysis.class
    }

    /// What must be loaded before it can be evaluated.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.analysis.reads
    }

    /// The parts of the history it reads, each as an expression of its own, in source order. For people who ask why it gave what
    /// it gave: a decision needs [`Condition::reads`] only, so this is found out when it is asked for.
    #[must_use]
    pub fn references(&self) -> Vec<String> {
        jsonata::references(&self.source)
    }

    /// The fields of roles' outputs it reads, sorted, as far as the role is known.
    #[must_use]
    pub fn field_reads(&self) -> &[FieldRead] {
        &self.analysis.fields
    }

    /// Comparisons of roles and fields with values that are written out, in source order.
    #[must_use]
    pub fn comparisons(&self) -> &[Comparison] {
        &self.analysis.comparisons
    }

    /// Traps in the expression, in words for its author, in source order.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.analysis.warnings
    }
}
