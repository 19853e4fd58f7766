//! Checks the expressions that give a role's workflow its input.

use super::expressions::{ExpressionCheck, roles_before};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::CompiledCondition;
use crate::workflow::model::WorkflowDraft;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    for (role, name, expression) in expressions(draft) {
        let pointer = join(&join(&join("/roles", role), "with"), name);
        if positions.is_broken(&pointer) {
            continue;
        }
        let at = positions.value(&pointer);
        let whole = format!("`{name}` in `with` of role `{role}`");
        match CompiledCondition::compile(expression) {
            Ok(compiled) => {
                let last = roles_before(draft, role);
                ExpressionCheck {
                    draft,
                    positions,
                    whole,
                    at,
                    last,
                    has_step: false,
                    is_condition: false,
                    copies: None,
                }
                .check(&compiled, problems);
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
