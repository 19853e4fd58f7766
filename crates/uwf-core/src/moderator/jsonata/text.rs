//! Renders expressions as an author would write them, for messages.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};

/// The text of a node. Long or rare parts become `…`.
pub(super) fn render_node(node: &AstNode) -> String {
    match node {
        AstNode::String(text) => format!("'{text}'"),
        AstNode::Name(name) => field(name),
        AstNode::Number(number) => number.to_string(),
        AstNode::Boolean(value) => value.to_string(),
        AstNode::Null => "null".into(),
        AstNode::Variable(name) => format!("${name}"),
        AstNode::ParentVariable(_) => "$$".into(),
        AstNode::Path { steps } => path(steps),
        AstNode::Unary { op: UnaryOp::Negate, operand } => format!("-{}", render_node(operand)),
        AstNode::Binary { op: BinaryOp::Equal, lhs, rhs } => format!("{}={}", render_node(lhs), render_node(rhs)),
        AstNode::Binary { op, lhs, rhs } => match sign(*op) {
            Some(sign) => format!("{} {sign} {}", render_node(lhs), render_node(rhs)),
            None => "…".into(),
        },
        AstNode::Function { name, args, .. } => {
            format!("${name}({})", args.iter().map(render_node).collect::<Vec<_>>().join(", "))
        }
        AstNode::Array(items) => format!("[{}]", items.iter().map(render_node).collect::<Vec<_>>().join(", ")),
        AstNode::FunctionApplication(inner) if matches!(**inner, AstNode::Block(_)) => render_node(inner),
        AstNode::FunctionApplication(inner) => format!("({})", render_node(inner)),
        AstNode::Block(items) if items.len() == 1 => format!("({})", render_node(&items[0])),
        AstNode::Wildcard => "*".into(),
        _ => "…".into(),
    }
}

/// Operators between two values.
fn sign(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::NotEqual => "!=",
        BinaryOp::LessThan => "<",
        BinaryOp::LessThanOrEqual => "<=",
        BinaryOp::GreaterThan => ">",
        BinaryOp::GreaterThanOrEqual => ">=",
        BinaryOp::In => "in",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Concatenate => "&",
        _ => return None,
    })
}

/// The text of a path, or of the beginning of one.
pub(super) fn path(steps: &[PathStep]) -> String {
    steps.iter().map(step).collect::<Vec<_>>().join(".")
}

fn step(step: &PathStep) -> String {
    let mut text = render_node(&step.node);
    for stage in &step.stages {
        match stage {
            Stage::Filter(inner) => text.push_str(&format!("[{}]", render_node(inner))),
            Stage::KeepArray | Stage::Index(_) => text.push_str("[]"),
        }
    }
    text
}

/// A field name, in quotes if it would not parse without them.
fn field(name: &str) -> String {
    let bare = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if bare { name.to_owned() } else { format!("`{name}`") }
}
