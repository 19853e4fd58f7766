//! The only module that uses the JSONata library, so that the library can be replaced.
//!
//! [`analyse`] turns text into a [`Program`] and facts about it. An [`EvaluationSession`] runs programs on one history. Both use the same
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
mod reads;
mod references;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use evaluate::EvalError;
pub(super) use evaluate::EvaluationSession;

use super::Reads;
use super::analysis::{Class, Comparison, ConditionError, FieldRead, FieldTest};
use jsonata_core::ast::AstNode;

/// A syntax tree ready to run.
#[derive(Debug)]
pub(super) struct Program {
    tree: AstNode,
}

/// The result of compiling an expression.
#[derive(Debug)]
pub(super) struct Analysis {
    pub(super) program: Program,
    pub(super) class: Class,
    pub(super) reads: Reads,
    pub(super) fields: Vec<FieldRead>,
    pub(super) warnings: Vec<String>,
    pub(super) comparisons: Vec<Comparison>,
    pub(super) inputs: Vec<FieldRead>,
    pub(super) tests: Vec<FieldTest>,
}

/// The parts of the history an expression reads, each as a separate expression, in source order. Empty if the text is not an expression.
pub(super) fn references(expression: &str) -> Vec<String> {
    parse::parse(expression).map(|tree| references::of(&tree)).unwrap_or_default()
}

/// Parses an expression, rejects forbidden constructs, and determines its cost and its reads.
pub(super) fn analyse(expression: &str) -> Result<Analysis, ConditionError> {
    let mut tree = parse::parse(expression)?;
    let bound = walk::bound_names(&tree);
    forbidden::check(&tree, &bound, expression)?;
    let fields::Found { fields, mut warnings, comparisons, inputs } = fields::of(&tree, &bound);
    warnings.extend(constant::warnings(&tree, &bound, expression));
    let tests = field_tests::deciding_tests(&tree, &bound);
    // Rewrite first, because a reference that became a plain variable no longer affects the class.
    let reads = reads::of(&mut tree, &bound);
    let class = if cost::is_plain(&tree, expression) { Class::Plain } else { Class::Bounded };
    Ok(Analysis { program: Program { tree }, class, reads, fields, warnings, comparisons, inputs, tests })
}
