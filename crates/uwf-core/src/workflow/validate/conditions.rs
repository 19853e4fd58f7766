//! Checks that conditions parse, and that the values they read can exist.

use std::collections::{BTreeMap, BTreeSet};

use super::expressions::{ExpressionCheck, roles_before};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::{CompiledCondition, ConditionError};
use crate::workflow::model::WorkflowDraft;
use json_cas::nearest::nearest;
use yaml_tree::TextPosition;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    let sources = sources(draft);
    for (name, condition) in &draft.conditions {
        let pointer = join(&join("/conditions", name), "expression");
        if positions.is_broken(&pointer) {
            continue;
        }
        let at = positions.value(&pointer);
        if condition.expression.trim().is_empty() {
            let message = format!("the condition `{name}` has an empty expression");
            problems.error("bad-condition", at, message, None);
            continue;
        }
        match CompiledCondition::compile(&condition.expression) {
            Ok(compiled) => {
                let whole = format!("the condition `{name}`");
                let last = sources.get(name.as_str()).cloned().unwrap_or_default();
                let has_step = follows_only_roles(draft, name);
                ExpressionCheck { draft, positions, whole, at, last, has_step, is_condition: true, copies: None }
                    .check(&compiled, problems);
            }
            Err(error) => rejected(draft, name, at, error, problems),
        }
    }
}

/// Condition → roles after which it is tried, so that the last step has their output.
fn sources(draft: &WorkflowDraft) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, transitions) in draft.graph.iter().filter(|(from, _)| draft.roles.contains_key(*from)) {
        for name in transitions.iter().filter_map(|transition| transition.condition.as_deref()) {
            sources.entry(name).or_default().insert(from);
        }
    }
    for (name, group) in draft.groups() {
        for condition in group.roles.iter().filter_map(|branch| branch.condition.as_deref()) {
            sources.entry(condition).or_default().extend(roles_before(draft, name));
        }
    }
    sources
}

/// Whether a condition is tried only on transitions out of roles. A branch of a group may be the first step.
fn follows_only_roles(draft: &WorkflowDraft, name: &str) -> bool {
    let is_tried = |condition: &Option<String>| condition.as_deref() == Some(name);
    let mut origins = draft.graph.iter().filter(|(_, ways)| ways.iter().any(|way| is_tried(&way.condition))).peekable();
    let has_origin = origins.peek().is_some();
    let in_group = draft.groups().any(|(_, group)| group.roles.iter().any(|branch| is_tried(&branch.condition)));
    has_origin && !in_group && origins.all(|(from, _)| draft.roles.contains_key(from))
}

fn rejected(
    draft: &WorkflowDraft,
    name: &str,
    at: TextPosition,
    error: ConditionError,
    problems: &mut ProblemCollector,
) {
    if problems.is_full() {
        return;
    }
    // An inline expression that resembles the name of a condition is probably a misspelt name.
    let others = draft.conditions.keys().map(String::as_str).filter(|other| *other != name);
    let hint = nearest(&error.expression, others)
        .map(|other| format!("did you mean the condition `{other}`?"))
        .or(error.hint.clone());
    let error = ConditionError { hint: None, ..error };
    let message = format!("the condition `{name}` cannot be used: {error}");
    problems.error("bad-condition", at, message, hint);
}
