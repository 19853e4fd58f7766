//! The schemas of the roles' outputs.

use json_cas::schema;

use crate::workflow::model::{Meta, WorkflowDraft};
use crate::workflow::positions::{Positions, join};
use crate::workflow::problem::Problems;

pub(super) fn check(draft: &WorkflowDraft, positions: &Positions, problems: &mut Problems) {
    for (name, role) in &draft.roles {
        let Meta::Inline(value) = &role.meta else {
            continue;
        };
        let pointer = join(&join("/roles", name), "meta");
        if positions.is_broken(&pointer) {
            continue;
        }
        for found in schema::check(value) {
            let at = format!("{pointer}{}", found.path);
            match found.severity {
                schema::Severity::Error => problems.error("bad-schema", positions.value(&at), found.message, None),
                schema::Severity::Note => problems.note("schema-note", positions.key(&at), found.message),
                // An unknown keyword is a key; that is where to look.
                schema::Severity::Warning => {
                    problems.warning("schema-warning", positions.key(&at), found.message, None)
                }
            }
        }
    }
}
