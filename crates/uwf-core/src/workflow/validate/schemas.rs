//! The schemas of the roles' outputs.

use json_cas::{Hash, schema};

use crate::document::{Positions, Problems, Severity, join};
use crate::workflow::model::{Meta, WorkflowDraft};

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
                Severity::Error => problems.error("bad-schema", positions.value(&at), found.message, None),
                Severity::Note => problems.note("schema-note", positions.key(&at), found.message),
                // An unknown keyword is a key; that is where to look.
                Severity::Warning => {
                    problems.warning("schema-warning", positions.key(&at), found.message, None);
                }
            }
        }
    }
}

/// Reports roles that name a stored schema which `is_stored` does not know.
///
/// # Errors
/// Those of `is_stored`.
pub(in crate::workflow) fn check_stored<E>(
    draft: &WorkflowDraft,
    positions: &Positions,
    mut is_stored: impl FnMut(Hash) -> Result<bool, E>,
    problems: &mut Problems,
) -> Result<(), E> {
    for (name, role) in &draft.roles {
        let Meta::Stored(hash) = role.meta else { continue };
        if !is_stored(hash)? {
            let at = positions.value(&join(&join("/roles", name), "meta"));
            let message = format!("role `{name}` names schema {hash}, which is not in the store");
            let hint = "`uwf cas schema put FILE` stores a schema; `uwf cas schema list` shows those there are";
            problems.error("unknown-schema", at, message, Some(hint.to_owned()));
        }
    }
    Ok(())
}
