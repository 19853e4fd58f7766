//! The only module that uses the JSONata library, so that the library can be replaced.
//!
//! [`analyse`] turns text into a [`Program`] and facts about it. An [`EvaluationSession`] runs programs on one history. Both use the same
//! variables for rewritten references to the history (`names`).

mod constant;
mod cost;
mod evaluate;
mod fields;
mod forbidden;
mod functions;
mod names;
mod parse;
mod pattern;
mod reads;
mod references;
mod shape;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use evaluate::EvalError;
pub(super) use evaluate::EvaluationSession;

use super::Reads;
use super::analysis::{Class, Comparison, ConditionError, FieldRead, ValueShape};
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
    /// Warnings that it decides nothing.
    pub(super) constants: Vec<String>,
    pub(super) comparisons: Vec<Comparison>,
    pub(super) inputs: Vec<FieldRead>,
    pub(super) source: Option<FieldRead>,
    pub(super) shape: ValueShape,
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
    let shape = shape::value_shape(&tree);
    let fields::Found { fields, warnings, comparisons, inputs, source } = fields::of(&tree, &bound);
    let constants = constant::warnings(&tree, &bound, expression);
    // Rewrite first, because a reference that became a plain variable no longer affects the class.
    let reads = reads::of(&mut tree, &bound);
    let class = if cost::is_plain(&tree, expression) { Class::Plain } else { Class::Bounded };
    Ok(Analysis {
        program: Program { tree },
        class,
        reads,
        fields,
        warnings,
        constants,
        comparisons,
        inputs,
        source,
        shape,
    })
}
