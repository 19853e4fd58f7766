//! Warns about expressions that read the item of a branch in a role without one.

use std::collections::BTreeSet;

use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::CompiledCondition;
use crate::workflow::model::WorkflowDraft;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    let with_item = played_for_items(draft);
    let without_item = draft.roles.iter().filter(|(name, _)| !with_item.contains(name.as_str()));
    let mut conditions: BTreeSet<&str> = BTreeSet::new();
    conditions.extend(draft.graph.values().flatten().filter_map(|transition| transition.condition.as_deref()));
    let mut warn = |whole: &str, pointer: &str, expression: &str| {
        if CompiledCondition::compile(expression).is_ok_and(|compiled| compiled.reads_item()) {
            let message = format!("{whole} reads `item`, which is always missing here");
            let hint = "only a role that a group with `each` plays has an item".to_owned();
            problems.warning("no-item", positions.value(pointer), message, Some(hint));
        }
    };
    for (name, role) in without_item {
        let pointer = join("/roles", name);
        for (key, expression) in &role.more.with {
            warn(&format!("`{key}` in `with` of role `{name}`"), &join(&join(&pointer, "with"), key), expression);
        }
        if let Some(group) = &role.more.play {
            if let Some(each) = &group.each {
                warn(&format!("`each` of `{name}`"), &join(&pointer, "each"), each);
            }
            conditions.extend(group.roles.iter().filter_map(|branch| branch.condition.as_deref()));
        }
    }
    for name in conditions {
        if let Some(condition) = draft.conditions.get(name) {
            let pointer = join(&join("/conditions", name), "expression");
            warn(&format!("the condition `{name}`"), &pointer, &condition.expression);
        }
    }
}

/// The roles that groups with `each` play, also by groups within them.
fn played_for_items(draft: &WorkflowDraft) -> BTreeSet<&str> {
    let has_items = |name: &&String| {
        draft.roles.get(*name).and_then(|role| role.more.play.as_ref()).is_some_and(|group| group.each.is_some())
    };
    draft.roles.keys().filter(has_items).flat_map(|group| draft.branches_of(group)).collect()
}
