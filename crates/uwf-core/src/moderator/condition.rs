//! A compiled condition, with its class and its reads.

use super::HistoryReads;
use super::analysis::{
    ConditionClass, ConditionError, FieldRead, FieldTest, LiteralComparison, SourceField, ValueShape,
};
use super::jsonata::{self, ConditionAnalysis, JsonataProgram, KnownSteps};

/// A compiled condition. Cheap to keep, `Send` and `Sync`.
#[derive(Debug)]
pub struct CompiledCondition {
    source: String,
    analysis: ConditionAnalysis,
}

impl CompiledCondition {
    /// Parses an expression and determines its class and its reads.
    ///
    /// # Errors
    /// The expression does not parse, is too long, calls a function that does not exist, or uses something that a decision must not use:
    /// `$now`, `$millis`, `$random`, `$shuffle`, `$eval`, the `@` and `#` bindings.
    pub fn compile(expression: &str) -> Result<CompiledCondition, ConditionError> {
        ConditionError::check_length(expression, Some("let an agent work it out and route on its output"))?;
        Ok(CompiledCondition { source: expression.to_owned(), analysis: jsonata::analyse(expression)? })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn program(&self) -> &JsonataProgram {
        &self.analysis.program
    }

    /// Where it may be evaluated.
    #[must_use]
    pub fn class(&self) -> ConditionClass {
        self.analysis.class
    }

    /// The part of the history that must be loaded before the condition can be evaluated.
    #[must_use]
    pub fn reads(&self) -> &HistoryReads {
        &self.analysis.reads
    }

    /// The parts of the history it reads, each as a separate expression, in source order. They explain a result to people. A decision needs
    /// only [`CompiledCondition::reads`], so this list is computed on demand.
    #[must_use]
    pub fn references(&self) -> Vec<String> {
        jsonata::references(&self.source)
    }

    /// The fields of roles' outputs it reads, sorted. Fields of an unknown role are left out.
    #[must_use]
    pub fn field_reads(&self) -> &[FieldRead] {
        &self.analysis.fields
    }

    /// The fields it reads of the outputs of steps whose roles are unknown, sorted.
    pub(crate) fn reads_of_any_step(&self) -> &[FieldRead] {
        &self.analysis.of_any_step
    }

    /// The fields of the thread's input it reads, sorted. The path of the whole input is empty.
    #[must_use]
    pub fn input_reads(&self) -> &[FieldRead] {
        &self.analysis.inputs
    }

    /// Whether it reads the item of a branch.
    #[must_use]
    pub(crate) fn reads_item(&self) -> bool {
        self.analysis.item
    }

    /// The field that its value, or the only part of a list that it builds, comes from.
    pub(crate) fn source_field(&self) -> Option<&SourceField> {
        self.analysis.source.as_ref()
    }

    /// Whether its value is a list.
    pub(crate) fn shape(&self) -> ValueShape {
        self.analysis.shape
    }

    /// Comparisons of roles and fields with literals, in source order.
    #[must_use]
    pub fn comparisons(&self) -> &[LiteralComparison] {
        &self.analysis.comparisons
    }

    /// Tests of fields that decide the condition if the schema makes them certain.
    pub(crate) fn field_tests(&self) -> &[FieldTest] {
        &self.analysis.tests
    }

    /// Warnings about the expression, in words for its author, in source order.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.analysis.warnings
    }

    /// Warnings that its result never changes, in words for its author. A condition then decides nothing.
    pub(crate) fn constant_warnings(&self, known: KnownSteps<'_>) -> Vec<String> {
        match self.analysis.constants.as_slice() {
            [] if known.has_one => jsonata::constant_after(&self.source, known).into_iter().collect(),
            constants => constants.to_vec(),
        }
    }
}
