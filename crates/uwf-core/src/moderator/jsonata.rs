//! The only module that uses the JSONata library, so that the library can be replaced.
//!
//! [`analyse`] turns text into a [`JsonataProgram`] and facts about it. An [`EvaluationSession`] runs programs on one history. Both use the same
//! variables for rewritten references to the history (`names`).

mod constant;
mod cost;
mod evaluate;
mod field_tests;
mod fields;
mod forbidden;
mod functions;
mod names;
mod parse;
mod pattern;
pub(super) mod payload;
mod places;
mod reads;
mod references;
mod shape;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use constant::KnownSteps;
pub use evaluate::EvalError;
pub(super) use evaluate::EvaluationSession;

use super::HistoryReads;
use super::analysis::{
    ConditionClass, ConditionError, FieldRead, FieldTest, LiteralComparison, SourceField, ValueShape,
};
use jsonata_core::ast::AstNode;

/// A syntax tree ready to run.
#[derive(Debug)]
pub(super) struct JsonataProgram {
    tree: AstNode,
}

/// The result of compiling an expression.
#[derive(Debug)]
pub(super) struct ConditionAnalysis {
    pub(super) program: JsonataProgram,
    pub(super) class: ConditionClass,
    pub(super) reads: HistoryReads,
    pub(super) fields: Vec<FieldRead>,
    pub(super) of_any_step: Vec<FieldRead>,
    pub(super) warnings: Vec<String>,
    /// Warnings that it decides nothing.
    pub(super) constants: Vec<String>,
    pub(super) comparisons: Vec<LiteralComparison>,
    pub(super) inputs: Vec<FieldRead>,
    pub(super) item: bool,
    pub(super) source: Option<SourceField>,
    pub(super) shape: ValueShape,
    pub(super) tests: Vec<FieldTest>,
}

/// The parts of the history an expression reads, each as a separate expression, in source order. Empty if the text is not an expression.
pub(super) fn references(expression: &str) -> Vec<String> {
    parse::parse(expression).map(|tree| references::collect_references(&tree)).unwrap_or_default()
}

/// The warning about an expression that is constant because of what is known of the steps where it is evaluated.
pub(super) fn constant_after(expression: &str, known: KnownSteps<'_>) -> Option<String> {
    let tree = parse::parse(expression).ok()?;
    constant::with_known_steps(&tree, &walk::bound_names(&tree), known)
}

/// Parses an expression, rejects forbidden constructs, and determines its cost and its reads.
pub(super) fn analyse(expression: &str) -> Result<ConditionAnalysis, ConditionError> {
    let mut tree = parse::parse(expression)?;
    let bound = walk::bound_names(&tree);
    forbidden::check(&tree, &bound, expression)?;
    let shape = shape::value_shape(&tree);
    let fields::FieldAnalysis { fields, of_any_step, warnings, comparisons, inputs, item, source } =
        fields::analyse_fields(&tree, &bound);
    let constants = constant::warnings(&tree, &bound, expression);
    let tests = field_tests::deciding_tests(&tree, &bound);
    // Rewrite first, because a reference that became a plain variable no longer affects the class.
    let reads = reads::determine_reads(&mut tree, &bound);
    let class = if cost::is_plain(&tree, expression) { ConditionClass::Plain } else { ConditionClass::Bounded };
    Ok(ConditionAnalysis {
        program: JsonataProgram { tree },
        class,
        reads,
        fields,
        of_any_step,
        warnings,
        constants,
        comparisons,
        inputs,
        item,
        source,
        shape,
        tests,
    })
}
