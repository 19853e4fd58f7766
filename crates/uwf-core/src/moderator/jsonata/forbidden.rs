//! Rejects expressions that parse but can't be conditions.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

use super::super::analysis::ConditionError;
use super::{functions, walk};
use json_cas::nearest::nearest;

struct ForbiddenConstruct {
    /// Its spelling in the source, to find its position.
    spelling: String,
    message: String,
    hint: Option<String>,
}

/// Rejects impure functions, the `@` and `#` bindings, and calls of functions that don't exist.
pub(super) fn check(tree: &AstNode, bound: &BTreeSet<String>, expression: &str) -> Result<(), ConditionError> {
    let mut found = None;
    walk::each(tree, &mut |node| {
        if found.is_none() {
            found = refusal(node, bound);
        }
    });
    match found {
        None => Ok(()),
        Some(ForbiddenConstruct { spelling, message, hint }) => Err(ConditionError {
            expression: expression.to_owned(),
            message,
            code: None,
            position: expression.find(&spelling).map(|byte| expression[..byte].chars().count()),
            hint,
        }),
    }
}

fn refusal(node: &AstNode, bound: &BTreeSet<String>) -> Option<ForbiddenConstruct> {
    match node {
        AstNode::Function { name, is_builtin: false, .. } => Some(not_called(name)),
        AstNode::Function { name, .. } => {
            impure(name).or_else(|| (!bound.contains(name)).then(|| unknown(name)).flatten())
        }
        AstNode::Variable(name) => impure(name),
        AstNode::Binary { op: BinaryOp::FocusBind, .. } => Some(binding('@')),
        AstNode::Binary { op: BinaryOp::IndexBind, .. } => Some(binding('#')),
        AstNode::Path { steps } => steps.iter().find_map(step_binding),
        _ => None,
    }
}

fn step_binding(step: &PathStep) -> Option<ForbiddenConstruct> {
    if step.focus.is_some() {
        return Some(binding('@'));
    }
    let positional = step.stages.iter().any(|stage| matches!(stage, Stage::Index(_)));
    (step.index_var.is_some() || positional).then(|| binding('#'))
}

fn impure(name: &str) -> Option<ForbiddenConstruct> {
    let (why, instead) = functions::refusal(name)?;
    Some(ForbiddenConstruct {
        spelling: format!("${name}"),
        message: format!("`${name}` {why}"),
        hint: Some(instead.into()),
    })
}

fn binding(sign: char) -> ForbiddenConstruct {
    ForbiddenConstruct {
        spelling: sign.to_string(),
        message: format!("the `{sign}` binding can multiply the data it walks without bound"),
        hint: Some("use a predicate `[…]` or `$filter`".into()),
    }
}

fn unknown(name: &str) -> Option<ForbiddenConstruct> {
    if functions::exists(name) {
        return None;
    }
    Some(ForbiddenConstruct {
        spelling: format!("${name}"),
        message: format!("unknown function `${name}`"),
        hint: nearest(name, functions::all()).map(|near| format!("did you mean `${near}`?")),
    })
}

fn not_called(name: &str) -> ForbiddenConstruct {
    let known = functions::exists(name);
    ForbiddenConstruct {
        spelling: name.to_owned(),
        message: format!("`{name}` is called like a function, but function names begin with `$`"),
        hint: known.then(|| format!("did you mean `${name}(…)`?")),
    }
}
