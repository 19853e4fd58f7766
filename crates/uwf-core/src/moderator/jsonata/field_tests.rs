//! Finds tests of fields that decide a whole expression, so that a schema can make its result certain.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp};
use jsonata_core::value::with_stack;
use serde_json::Value;

use super::super::analysis::{FieldRead, FieldTest};
use super::fields::{field_of, literal};

/// Most links of an `or` that are read. Handwritten conditions have fewer.
const MOST_LINKS: usize = 32;

/// Returns the tests that decide an expression: the whole expression, or links of its outermost `or`.
pub(super) fn deciding_tests(tree: &AstNode, bound: &BTreeSet<String>) -> Vec<FieldTest> {
    let (tree, value) = negations(tree);
    let mut links = Vec::new();
    collect(tree, &mut links);
    let mut tests: Vec<FieldTest> = Vec::new();
    for link in links.into_iter().take(MOST_LINKS) {
        let Some((read, values)) = test(link, bound) else { continue };
        let same = tests.iter_mut().find(|test| is_same_field(&test.read, &read) && test.values.is_some());
        match (same.and_then(|test| test.values.as_mut()), values) {
            (Some(known), Some(values)) => known.extend(values),
            (_, values) => tests.push(FieldTest { read, values, value }),
        }
    }
    tests
}

/// The expression inside `$not`, and the value of the whole if the inner one is true.
fn negations(tree: &AstNode) -> (&AstNode, bool) {
    match tree {
        AstNode::Block(items) if items.len() == 1 => negations(&items[0]),
        AstNode::Function { name, args, .. } if name == "not" && args.len() == 1 => {
            let (tree, value) = negations(&args[0]);
            (tree, !value)
        }
        tree => (tree, true),
    }
}

fn collect<'a>(node: &'a AstNode, links: &mut Vec<&'a AstNode>) {
    with_stack(|| match node {
        AstNode::Binary { op: BinaryOp::Or, lhs, rhs } => {
            collect(lhs, links);
            collect(rhs, links);
        }
        AstNode::Block(items) if items.len() == 1 => collect(&items[0], links),
        _ => links.push(node),
    });
}

/// The field that a node tests, and the values for which it is true; `None` for the values if the field must only exist.
fn test(node: &AstNode, bound: &BTreeSet<String>) -> Option<(FieldRead, Option<Vec<Value>>)> {
    match node {
        AstNode::Function { name, args, .. } if name == "exists" && args.len() == 1 && !bound.contains(name) => {
            Some((field_of(&args[0], bound)?, None))
        }
        AstNode::Binary { op: BinaryOp::Equal, lhs, rhs } => {
            let (field, value) = literal(rhs).map(|value| (lhs, value)).or_else(|| Some((rhs, literal(lhs)?)))?;
            Some((field_of(field, bound)?, Some(vec![value])))
        }
        AstNode::Binary { op: BinaryOp::In, lhs, rhs } => {
            let AstNode::Array(items) = &**rhs else { return None };
            Some((field_of(lhs, bound)?, Some(items.iter().filter_map(literal).collect())))
        }
        _ => None,
    }
}

fn is_same_field(one: &FieldRead, other: &FieldRead) -> bool {
    one.role == other.role && one.path == other.path
}
