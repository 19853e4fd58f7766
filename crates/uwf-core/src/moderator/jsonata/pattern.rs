//! Recognises references to the history in a path.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};

use super::names;
use super::walk::ContextFocus;

/// A position in an array, as `[n]` or `[-n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayIndex {
    /// Counted from the front, 0 is the first.
    Front(usize),
    /// Counted from the back, 1 is the last.
    Back(usize),
}

/// Index of the path step that stands for all steps of the thread: `steps`, `$steps`, `$.steps`, `$$.steps`.
pub(super) fn steps_base(path: &[PathStep], focus: ContextFocus) -> Option<usize> {
    match &path.first()?.node {
        AstNode::Name(name) if focus == ContextFocus::Root && name == names::STEPS => Some(0),
        AstNode::Variable(name) if name == names::STEPS => Some(0),
        _ if is_root(&path[0], focus) => {
            matches!(&path.get(1)?.node, AstNode::Name(name) if name == names::STEPS).then_some(1)
        }
        _ => None,
    }
}

/// Whether a path begins with the whole context, followed by the name of one of its fields.
pub(super) fn names_root_field(path: &[PathStep], focus: ContextFocus) -> bool {
    path.len() > 1 && is_root(&path[0], focus) && matches!(path[1].node, AstNode::Name(_))
}

fn is_root(step: &PathStep, focus: ContextFocus) -> bool {
    step.stages.is_empty()
        && match &step.node {
            AstNode::Variable(name) => name.is_empty() && focus == ContextFocus::Root,
            AstNode::ParentVariable(name) => name.is_empty(),
            _ => false,
        }
}

/// `[n]` or `[-n]` with a whole number.
pub(super) fn index(stage: &Stage) -> Option<ArrayIndex> {
    let Stage::Filter(expression) = stage else {
        return None;
    };
    match &**expression {
        AstNode::Number(number) => whole(*number).map(ArrayIndex::Front),
        AstNode::Unary { op: UnaryOp::Negate, operand } => match &**operand {
            AstNode::Number(number) => whole(*number).filter(|n| *n > 0).map(ArrayIndex::Back),
            _ => None,
        },
        _ => None,
    }
}

fn whole(number: f64) -> Option<usize> {
    // The bound keeps the conversion exact on every platform. No thread has nearly as many steps.
    (number.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&number)).then_some(number as usize)
}

/// The role of a stage that is exactly `[role = 'x']`.
pub(super) fn role(stage: &Stage) -> Option<&str> {
    let Stage::Filter(expression) = stage else {
        return None;
    };
    role_equals(expression)
}

/// The role that an `and` of comparisons requires, as in `[role = 'x' and output.ok]`.
pub(super) fn role_within(expression: &AstNode) -> Option<&str> {
    match expression {
        AstNode::Binary { op: BinaryOp::And, lhs, rhs } => role_within(lhs).or_else(|| role_within(rhs)),
        _ => role_equals(expression),
    }
}

fn role_equals(expression: &AstNode) -> Option<&str> {
    let AstNode::Binary { op: BinaryOp::Equal, lhs, rhs } = expression else {
        return None;
    };
    match (&**lhs, &**rhs) {
        (AstNode::Path { steps }, AstNode::String(role)) | (AstNode::String(role), AstNode::Path { steps })
            if is_name(steps, "role") =>
        {
            Some(role)
        }
        _ => None,
    }
}

/// Whether a path is one bare name.
fn is_name(path: &[PathStep], name: &str) -> bool {
    matches!(path, [PathStep { node: AstNode::Name(it), stages, .. }] if it == name && stages.is_empty())
}
