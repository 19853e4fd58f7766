//! Checks the schemas of the roles' outputs and of the input.

use json_cas::{NodeHash, schema};
use serde_json::Value;

use crate::document::{ProblemCollector, SchemaSeverity, SourcePositions, join};
use crate::input::bad_defaults;
use crate::workflow::model::{DraftSchema, INPUT, WorkflowDraft};

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    for (name, role) in &draft.roles {
        let DraftSchema::Inline(value) = &role.meta else {
            continue;
        };
        let pointer = join(&join("/roles", name), "meta");
        if positions.is_broken(&pointer) {
            continue;
        }
        if takes_any_status(value) {
            let message = format!(
                "agents of role `{name}` cannot ask a person: the schema takes any `status`, so `needs_input` is an output; an \
                 `enum` without it lets them ask"
            );
            problems.note("any-status", positions.key(&join(&join(&pointer, "properties"), "status")), message);
        }
        is_sound(value, &pointer, positions, problems);
    }
    let pointer = join("", INPUT);
    if let Some(DraftSchema::Inline(value)) = draft.input.as_ref().filter(|_| !positions.is_broken(&pointer))
        && is_sound(value, &pointer, positions, problems)
    {
        for (path, violation) in bad_defaults(value) {
            let message = format!("the default does not fit: {violation}");
            problems.error("bad-schema", positions.value(&format!("{pointer}{path}")), message, None);
        }
    }
}

/// Reports the problems of one schema. Returns whether none is an error.
fn is_sound(schema: &Value, pointer: &str, positions: &SourcePositions, problems: &mut ProblemCollector) -> bool {
    let mut is_sound = true;
    for found in schema::check(schema) {
        let at = format!("{pointer}{}", found.path);
        match found.severity {
            SchemaSeverity::Error => {
                is_sound = false;
                problems.error("bad-schema", positions.value(&at), found.message, None);
            }
            SchemaSeverity::Note => problems.note("schema-note", positions.key(&at), found.message),
            // An unknown keyword is a key, so report the position of the key.
            SchemaSeverity::Warning => {
                problems.warning("schema-warning", positions.key(&at), found.message, None);
            }
        }
    }
    is_sound
}

/// Whether a schema has a `status` that accepts any text. With an `enum`, the author chose the values, and a value that is missing from it,
/// such as `needs_input`, is not an output.
fn takes_any_status(schema: &Value) -> bool {
    let status = &schema["properties"]["status"];
    let is_narrow = ["enum", "const", "pattern"].iter().any(|keyword| status.get(keyword).is_some());
    status["type"] == "string" && !is_narrow
}

/// Reports roles, and an input, that name a stored schema which `is_stored` does not know.
pub(in crate::workflow) fn check_stored<E>(
    draft: &WorkflowDraft,
    positions: &SourcePositions,
    mut is_stored: impl FnMut(NodeHash) -> Result<bool, E>,
    problems: &mut ProblemCollector,
) -> Result<(), E> {
    let of_roles = draft
        .roles
        .iter()
        .map(|(name, role)| (format!("role `{name}`"), join(&join("/roles", name), "meta"), &role.meta));
    let of_input = draft.input.iter().map(|schema| ("`input`".to_owned(), join("", INPUT), schema));
    for (who, pointer, schema) in of_roles.chain(of_input) {
        let DraftSchema::Stored(hash) = *schema else { continue };
        if !is_stored(hash)? {
            let at = positions.value(&pointer);
            let message = format!("{who} names schema {hash}, which is not in the store");
            let hint = "`uwf cas schema put FILE` stores a schema; `uwf cas schema list` lists them";
            problems.error("unknown-schema", at, message, Some(hint.to_owned()));
        }
    }
    Ok(())
}
