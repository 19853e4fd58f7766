//! Checks that no two branches have the same path: a dot separates the name of a group from the name of its branch, and may be in both.

use std::collections::BTreeMap;

use super::group_items::BAD_GROUP;
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::workflow::group::PLAY;
use crate::workflow::model::WorkflowDraft;

/// Most paths that are compared.
const MOST_PATHS: usize = 4096;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    // Without a dot in a name, a path has only one reading.
    if !draft.roles.keys().any(|name| name.contains('.')) {
        return;
    }
    let in_graph = |name: &str| draft.graph.values().flatten().any(|transition| transition.role == name);
    let mut paths: BTreeMap<String, &str> = BTreeMap::new();
    let mut open: Vec<(String, &str)> =
        draft.groups().filter(|(name, _)| in_graph(name)).map(|(name, _)| (name.to_owned(), name)).collect();
    while let Some((path, name)) = open.pop().filter(|_| paths.len() < MOST_PATHS) {
        let Some(group) = draft.roles.get(name).and_then(|role| role.more.play.as_ref()) else { continue };
        // The items or the number of copies name other branches.
        if group.repeated().is_some() {
            continue;
        }
        for (index, branch) in group.roles.iter().enumerate() {
            let below = format!("{path}.{}", branch.role);
            if let Some(other) = paths.insert(below.clone(), name).filter(|other| *other != name) {
                let at = positions.value(&format!("{}/{PLAY}/{index}/role", join("/roles", name)));
                let message = format!("branches of `{other}` and `{name}` have the same path, `{below}`");
                let hint = "rename the role with a dot: in a path, a dot separates a group from its branch".to_owned();
                problems.error(BAD_GROUP, at, message, Some(hint));
                return;
            }
            open.push((below, &branch.role));
        }
    }
}
