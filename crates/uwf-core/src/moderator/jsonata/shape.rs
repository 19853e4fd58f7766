//! Determines whether the value of an expression is a list, as far as the expression itself says.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};

use super::super::analysis::ValueShape;

/// Functions that give a single match without a list around it.
const OF_MATCHES: [&str; 5] = ["filter", "map", "each", "keys", "lookup"];

/// How many levels of an expression are looked into.
const LEVELS: usize = 16;

/// The shape of a node's value.
pub(super) fn value_shape(node: &AstNode) -> ValueShape {
    within(node, LEVELS)
}

fn within(node: &AstNode, levels: usize) -> ValueShape {
    let Some(levels) = levels.checked_sub(1) else { return ValueShape::Unknown };
    match node {
        AstNode::Path { steps } => of_path(steps, levels),
        AstNode::Wildcard | AstNode::Descendant | AstNode::Sort { .. } => ValueShape::Matches,
        AstNode::Function { name, .. } if OF_MATCHES.contains(&name.as_str()) => ValueShape::Matches,
        AstNode::Function { name, .. } => of_function(name),
        AstNode::Block(items) => items.last().map_or(ValueShape::Unknown, |last| within(last, levels)),
        AstNode::FunctionApplication(inner) => within(inner, levels),
        AstNode::Conditional { then_branch, else_branch, .. } => match (within(then_branch, levels), else_branch) {
            (ValueShape::Unknown, Some(branch)) => within(branch, levels),
            (shape, _) => shape,
        },
        AstNode::String(_) => ValueShape::Single("a text"),
        AstNode::Number(_) | AstNode::Unary { op: UnaryOp::Negate, .. } => ValueShape::Single("a number"),
        AstNode::Boolean(_) => ValueShape::Single("true or false"),
        AstNode::Null => ValueShape::Single("null"),
        AstNode::Object(_) => ValueShape::Single("an object"),
        AstNode::Binary { op: BinaryOp::ChainPipe, rhs, .. } => within(rhs, levels),
        AstNode::Binary { op, .. } => of_operator(*op),
        _ => ValueShape::Unknown,
    }
}

fn of_path(steps: &[PathStep], levels: usize) -> ValueShape {
    let keeps_list = steps.iter().any(|step| step.stages.iter().any(|stage| matches!(stage, Stage::KeepArray)));
    let Some(last) = steps.last().filter(|_| !keeps_list) else { return ValueShape::Unknown };
    if last.stages.iter().any(|stage| matches!(stage, Stage::Filter(_))) {
        return ValueShape::Matches;
    }
    match (&last.node, within(&last.node, levels)) {
        (AstNode::Name(_), _) => ValueShape::Unknown,
        // Each value becomes another one, and a single value has no list around it.
        (_, ValueShape::Single(_)) if steps.len() > 1 => ValueShape::Matches,
        (_, shape) => shape,
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

fn of_operator(op: BinaryOp) -> ValueShape {
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
        _ => ValueShape::Unknown,
    }
}
