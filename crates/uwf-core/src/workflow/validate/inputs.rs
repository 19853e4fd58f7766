//! Checks the expressions that give a role's workflow its input, and every expression that reads the thread's own.

use json_cas::nearest::did_you_mean;
use yaml_tree::TextPosition;

use super::schema_paths::{PathPossibility, can_have};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::{CompiledCondition, FieldRead};
use crate::workflow::model::{DraftSchema, INPUT, WorkflowDraft};

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    for (name, condition) in &draft.conditions {
        // An expression that does not compile was already reported.
        if let Ok(condition) = CompiledCondition::compile(&condition.expression) {
            let at = positions.value(&join(&join("/conditions", name), "expression"));
            check_reads(draft, positions, &format!("the condition `{name}`"), at, &condition, problems);
        }
    }
    for (role, name, expression) in expressions(draft) {
        let pointer = join(&join(&join("/roles", role), "with"), name);
        if positions.is_broken(&pointer) {
            continue;
        }
        let at = positions.value(&pointer);
        let whole = format!("`{name}` in `with` of role `{role}`");
        match CompiledCondition::compile(expression) {
            Ok(compiled) => {
                for warning in compiled.warnings() {
                    problems.warning("doubtful-expression", at, format!("{whole}: {warning}"), None);
                }
                check_reads(draft, positions, &whole, at, &compiled, problems);
            }
            Err(error) => {
                problems.error("bad-expression", at, format!("{whole} cannot be used: {error}"), None);
            }
        }
    }
}

/// Role, name and expression of each `with`.
fn expressions(draft: &WorkflowDraft) -> impl Iterator<Item = (&str, &str, &str)> {
    draft.roles.iter().flat_map(|(role, found)| {
        let of_role = found.more.with.iter();
        of_role.map(move |(name, expression)| (role.as_str(), name.as_str(), expression.as_str()))
    })
}

/// Warns about fields of the input that the schema cannot have. `whole` names the expression.
fn check_reads(
    draft: &WorkflowDraft,
    positions: &SourcePositions,
    whole: &str,
    at: TextPosition,
    expression: &CompiledCondition,
    problems: &mut ProblemCollector,
) {
    if positions.is_broken(&join("", INPUT)) {
        return;
    }
    for read in expression.input_reads() {
        if problems.is_full() {
            return;
        }
        let reads = format!("{whole} reads `{}`", read.text);
        if let Some((why, hint)) = impossible(draft, read) {
            problems.warning("impossible-field", at, format!("{reads}, but {why}"), hint);
        }
    }
}

/// Why a field of the input never exists, and what to try instead.
fn impossible(draft: &WorkflowDraft, read: &FieldRead) -> Option<(String, Option<String>)> {
    let schema = match &draft.input {
        None => return Some(("the workflow has no `input`".to_owned(), None)),
        Some(DraftSchema::Inline(schema)) => schema,
        Some(DraftSchema::Stored(_)) => return None,
    };
    match can_have(schema, &read.path) {
        PathPossibility::Possible => None,
        PathPossibility::NoField { field, known } => {
            let hint = did_you_mean(&field, known.iter().map(String::as_str));
            let fields: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
            let hint = hint.or_else(|| Some(format!("it has {}", fields.join(", "))));
            Some((format!("the input has no `{field}`"), hint))
        }
        PathPossibility::NotAnObject { .. } if read.path.len() == 1 => {
            Some(("the input has no fields".to_owned(), None))
        }
        PathPossibility::NotAnObject { field } => Some((format!("in the input nothing can be below `{field}`"), None)),
    }
}
