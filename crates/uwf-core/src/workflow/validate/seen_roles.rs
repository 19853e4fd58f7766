//! Checks the roles of `sees`.

use crate::document::{ProblemCollector, SourcePositions, join};
use crate::workflow::model::WorkflowDraft;
use json_cas::nearest::did_you_mean;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    for (name, role) in &draft.roles {
        for (index, seen) in role.more.sees.iter().flatten().enumerate() {
            let at = positions.value(&join(&join(&join("/roles", name), "sees"), &index.to_string()));
            if !draft.roles.contains_key(seen) {
                let message =
                    format!("`sees` of `{name}` names the role `{}`, which does not exist", seen.escape_debug());
                problems.error("unknown-role", at, message, did_you_mean(seen, draft.roles.keys().map(String::as_str)));
            } else if let Some(group) = draft.only_played_by(seen) {
                let message = format!(
                    "`sees` of `{name}` names `{seen}`, which only the group `{group}` plays, so no step has it"
                );
                let is_sibling = draft.branches_of(group).contains(&name.as_str());
                let hint = if is_sibling {
                    "a branch sees no other branch, only the steps before the group".to_owned()
                } else {
                    format!("write `{group}`: the step of the group has the outputs of all branches")
                };
                problems.warning("unseen-role", at, message, Some(hint));
            }
        }
    }
}
