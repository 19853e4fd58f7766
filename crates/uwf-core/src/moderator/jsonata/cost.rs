//! Decides whether the syntax of an expression bounds its cost.
//!
//! Why *plain* is safe: an expression loops only in path steps and predicates, over the items of the value before them. In a loop, a plain
//! expression reads only the item, which is part of the value it loops over, and builds nothing larger than its input. So nested loops
//! cover disjoint parts of the data, and the total cost is at most the expression's length times the data's size and depth. If `$steps` or
//! an array constructor were allowed in a loop, a chain of loops could multiply: `$steps[$steps[$steps[…]]]`, `x.([$,$]).([$,$])…`.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};
use jsonata_core::value::with_stack;

use super::{functions, names};

/// How often a node is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpressionPlace {
    /// Once.
    Once,
    /// For each item of a value.
    Looped,
}

/// Longest plain expression, in bytes. The cost is at most the length times the size of the data, so the length must be small for an
/// evaluation to take about a millisecond. Typical conditions have a tenth of this length.
const MAX_PLAIN_BYTES: usize = 4096;

/// Whether an expression is plain after its references to the history were rewritten.
pub(super) fn is_plain(tree: &AstNode, expression: &str) -> bool {
    expression.len() <= MAX_PLAIN_BYTES && plain(tree, ExpressionPlace::Once)
}

fn plain(node: &AstNode, place: ExpressionPlace) -> bool {
    with_stack(|| match node {
        AstNode::String(_)
        | AstNode::Name(_)
        | AstNode::Number(_)
        | AstNode::Boolean(_)
        | AstNode::Null
        | AstNode::Undefined
        | AstNode::Wildcard => true,
        AstNode::Variable(name) => variable(name, place),
        AstNode::ParentVariable(_) => place == ExpressionPlace::Once,
        AstNode::Path { steps } => steps
            .iter()
            .enumerate()
            .all(|(index, step)| path_step(step, if index == 0 { place } else { ExpressionPlace::Looped })),
        AstNode::Binary { op, lhs, rhs } => binary(*op, lhs, rhs, place),
        AstNode::Unary { operand, .. } => plain(operand, place),
        AstNode::Conditional { condition, then_branch, else_branch } => {
            plain(condition, place)
                && plain(then_branch, place)
                && else_branch.as_ref().is_none_or(|branch| plain(branch, place))
        }
        AstNode::Block(items) => items.iter().all(|item| plain(item, place)),
        AstNode::FunctionApplication(inner) => plain(inner, place),
        AstNode::Function { name, args, is_builtin } => {
            *is_builtin && function(name, args, place) && args.iter().all(|arg| plain(arg, place))
        }
        AstNode::Placeholder
        | AstNode::Regex { .. }
        | AstNode::Call { .. }
        | AstNode::Lambda { .. }
        | AstNode::Array(_)
        | AstNode::Object(_)
        | AstNode::ObjectTransform { .. }
        | AstNode::Descendant
        | AstNode::Parent(_)
        | AstNode::ArrayGroup(_)
        | AstNode::Sort { .. }
        | AstNode::Transform { .. } => false,
    })
}

fn variable(name: &str, place: ExpressionPlace) -> bool {
    let scalar = name == names::THREAD_ID || name == names::DEPTH || names::is_count(name);
    let history = name == names::STEPS || [names::START, names::ITEM].contains(&name) || names::is_step(name);
    name.is_empty() || scalar || (history && place == ExpressionPlace::Once)
}

fn function(name: &str, args: &[AstNode], place: ExpressionPlace) -> bool {
    let history = name == names::FIRST || name == names::LAST;
    functions::is_plain(name, args.len()) && (!history || place == ExpressionPlace::Once)
}

fn path_step(step: &PathStep, place: ExpressionPlace) -> bool {
    let PathStep { node, stages, focus, index_var, ancestor_label, is_tuple, inner_tuple, id: _ } = step;
    let bound = focus.is_some() || index_var.is_some() || ancestor_label.is_some() || *is_tuple || *inner_tuple;
    !bound
        && plain(node, place)
        && stages.iter().all(|stage| match stage {
            Stage::Filter(inner) => plain(inner, ExpressionPlace::Looped),
            Stage::KeepArray => true,
            Stage::Index(_) => false,
        })
}

fn binary(op: BinaryOp, lhs: &AstNode, rhs: &AstNode, place: ExpressionPlace) -> bool {
    match op {
        // These operators return booleans, so the result can't contain the items of a list literal.
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::LessThan
        | BinaryOp::LessThanOrEqual
        | BinaryOp::GreaterThan
        | BinaryOp::GreaterThanOrEqual
        | BinaryOp::In => operand(lhs, place) && operand(rhs, place),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Coalesce
        | BinaryOp::Default => plain(lhs, place) && plain(rhs, place),
        BinaryOp::Concatenate
        | BinaryOp::Range
        | BinaryOp::ColonEqual
        | BinaryOp::FocusBind
        | BinaryOp::IndexBind
        | BinaryOp::ChainPipe => false,
    }
}

fn operand(node: &AstNode, place: ExpressionPlace) -> bool {
    match node {
        AstNode::Array(items) => items.iter().all(is_literal),
        _ => plain(node, place),
    }
}

fn is_literal(node: &AstNode) -> bool {
    match node {
        AstNode::String(_) | AstNode::Number(_) | AstNode::Boolean(_) | AstNode::Null => true,
        AstNode::Unary { operand, .. } => matches!(**operand, AstNode::Number(_)),
        _ => false,
    }
}
