//! Expressions over a payload from outside, such as the body of a webhook. They know nothing of threads.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::nearest::did_you_mean;
use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Context, Evaluator};
use jsonata_core::value::JValue;
use serde_json::Value;

use super::super::analysis::ConditionError;
use super::evaluate::{EvalError, library_value, plain_value};
use super::{JsonataProgram, forbidden, functions, names, parse, walk};

/// Parses an expression, and rejects forbidden constructs and variables other than the given ones.
pub(in super::super) fn compile(expression: &str, variables: &[&str]) -> Result<JsonataProgram, ConditionError> {
    let tree = parse::parse(expression)?;
    let bound = walk::bound_names(&tree);
    forbidden::check(&tree, &bound, expression)?;
    match unknown_name(&tree, &bound, variables) {
        None => Ok(JsonataProgram { tree }),
        Some(name) => {
            let known = variables.iter().copied();
            Err(ConditionError {
                expression: expression.to_owned(),
                message: format!("`${name}` is not known here"),
                code: None,
                position: expression.find(&format!("${name}")).map(|byte| expression[..byte].chars().count()),
                hint: Some(did_you_mean(&name, known.clone()).unwrap_or_else(|| {
                    let known: Vec<String> = known.map(|name| format!("`${name}`")).collect();
                    format!("the payload is the input of the expression; besides there are {}", known.join(" and "))
                })),
            })
        }
    }
}

/// The first variable or function that such an expression does not have.
fn unknown_name(tree: &AstNode, bound: &BTreeSet<String>, variables: &[&str]) -> Option<String> {
    let mut unknown = None;
    walk::each(tree, &mut |node| {
        let (AstNode::Variable(name) | AstNode::Function { name, .. }) = node else { return };
        let is_of_threads = names::FUNCTIONS.contains(&name.as_str());
        let is_known = name.is_empty()
            || bound.contains(name)
            || variables.contains(&name.as_str())
            || functions::exists(name) && !is_of_threads;
        if !is_known && unknown.is_none() {
            unknown = Some(name.clone());
        }
    });
    unknown
}

/// Runs a program on a payload. `None` is a missing value.
pub(in super::super) fn run(
    program: &JsonataProgram,
    payload: &Value,
    variables: &BTreeMap<String, Value>,
) -> Result<Option<Value>, EvalError> {
    let mut context = Context::new();
    for (name, value) in variables {
        context.bind(name.clone(), library_value(value));
    }
    let mut evaluator = Evaluator::with_context(context);
    let result =
        evaluator.evaluate(&program.tree, &library_value(payload)).map_err(|error| EvalError::new(error.message()))?;
    match result {
        JValue::Undefined => Ok(None),
        other => plain_value(&other, 0).map(Some),
    }
}
