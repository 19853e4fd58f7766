//! Determines whether the value of an expression is a list, as far as the expression itself says.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};
use jsonata_core::value::with_stack;

use super::super::analysis::ValueShape;

/// Functions that give a single match without a list around it.
const OF_MATCHES: [&str; 5] = ["filter", "map", "each", "keys", "lookup"];

/// The shape of a node's value.
pub(super) fn of(node: &AstNode) -> ValueShape {
    with_stack(|| match node {
        AstNode::Path { steps } => of_path(steps),
        AstNode::Wildcard | AstNode::Descendant | AstNode::Sort { .. } => ValueShape::Matches,
        AstNode::Function { name, .. } if OF_MATCHES.contains(&name.as_str()) => ValueShape::Matches,
        AstNode::Function { name, .. } => of_function(name),
        AstNode::Block(items) => items.last().map_or(ValueShape::Unknown, of),
        AstNode::FunctionApplication(inner) => of(inner),
        AstNode::Conditional { then_branch, else_branch, .. } => {
            let mut branches = [Some(&**then_branch), else_branch.as_deref()].into_iter().flatten().map(of);
            branches.find(|shape| *shape != ValueShape::Unknown).unwrap_or(ValueShape::Unknown)
        }
        AstNode::String(_) => ValueShape::Single("a text"),
        AstNode::Number(_) | AstNode::Unary { op: UnaryOp::Negate, .. } => ValueShape::Single("a number"),
        AstNode::Boolean(_) => ValueShape::Single("true or false"),
        AstNode::Null => ValueShape::Single("null"),
        AstNode::Object(_) => ValueShape::Single("an object"),
        AstNode::Binary { op, rhs, .. } => of_operator(*op, rhs),
        _ => ValueShape::Unknown,
    })
}

fn of_path(steps: &[PathStep]) -> ValueShape {
    let keeps_list = steps.iter().any(|step| step.stages.iter().any(|stage| matches!(stage, Stage::KeepArray)));
    let Some(last) = steps.last().filter(|_| !keeps_list) else { return ValueShape::Unknown };
    if last.stages.iter().any(|stage| matches!(stage, Stage::Filter(_))) {
        return ValueShape::Matches;
    }
    match &last.node {
        AstNode::Name(_) => ValueShape::Unknown,
        // Each value becomes another one, and a single value has no list around it.
        node if steps.len() > 1 && matches!(of(node), ValueShape::Single(_)) => ValueShape::Matches,
        node => of(node),
    }
}

fn of_function(name: &str) -> ValueShape {
    match name {
        "count" | "sum" | "max" | "min" | "average" | "length" | "number" | "round" | "floor" | "ceil" | "abs" => {
            ValueShape::Single("a number")
        }
        "exists" | "not" | "boolean" | "contains" => ValueShape::Single("true or false"),
        "string" | "join" | "trim" | "lowercase" | "uppercase" | "substring" | "replace" => {
            ValueShape::Single("a text")
        }
        "merge" => ValueShape::Single("an object"),
        _ => ValueShape::Unknown,
    }
}

fn of_operator(op: BinaryOp, right: &AstNode) -> ValueShape {
    match op {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::LessThan
        | BinaryOp::LessThanOrEqual
        | BinaryOp::GreaterThan
        | BinaryOp::GreaterThanOrEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::In => ValueShape::Single("true or false"),
        BinaryOp::Concatenate => ValueShape::Single("a text"),
        BinaryOp::ChainPipe => of(right),
        _ => ValueShape::Unknown,
    }
}
