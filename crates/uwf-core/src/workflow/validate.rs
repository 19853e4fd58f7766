//! Checks a whole draft before it is used, so that mistakes don't surface in the middle of a paid run.

mod branch_paths;
mod certainty;
mod comparisons;
mod conditions;
mod expressions;
mod group_items;
mod groups;
mod inputs;
mod items;
mod names;
mod schema_paths;
mod schemas;
mod seen_roles;
mod transitions;

pub(crate) use names::MAX_NAME;
pub use names::name_fault;
pub(super) use schemas::check_stored;

use super::model::WorkflowDraft;
use crate::document::SourcePositions;
use crate::document::{FileProblem, ProblemCollector};

/// Returns all problems of a draft, in order of place. `positions` comes from [`parse`](super::parse) with the draft. `file_stem` is the
/// file's name without directory and extension, if it came from a file.
///
/// Whether a schema given by hash exists is not checked here; see [`check_with`](super::check_with).
#[must_use]
pub fn validate(draft: &WorkflowDraft, positions: &SourcePositions, file_stem: Option<&str>) -> Vec<FileProblem> {
    let mut problems = ProblemCollector::new(positions.file());
    validate_into(draft, positions, file_stem, &mut problems);
    problems.finish()
}

pub(super) fn validate_into(
    draft: &WorkflowDraft,
    positions: &SourcePositions,
    file_stem: Option<&str>,
    problems: &mut ProblemCollector,
) {
    names::check(draft, positions, file_stem, problems);
    seen_roles::check(draft, positions, problems);
    groups::check(draft, positions, problems);
    schemas::check(draft, positions, problems);
    transitions::check(draft, positions, problems);
    conditions::check(draft, positions, problems);
    inputs::check(draft, positions, problems);
    items::check(draft, positions, problems);
}
