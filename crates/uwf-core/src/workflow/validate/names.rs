//! Checks names: errors for invalid names, warnings for inconvenient ones.

use crate::document::ProblemCollector;
use crate::document::{SourcePositions, join};

use crate::workflow::model::{END, START, WorkflowDraft};
use crate::workflow::older_forms::graph_name;

/// Longest name, in symbols. A name must fit into a line of a listing, a file name and a command line.
pub(crate) const MAX_NAME: usize = 64;

pub(super) fn check(
    draft: &WorkflowDraft,
    positions: &SourcePositions,
    file_stem: Option<&str>,
    problems: &mut ProblemCollector,
) {
    check_workflow(&draft.name, positions, file_stem, problems);
    for name in draft.roles.keys() {
        let at = positions.key(&join("/roles", name));
        if name.starts_with('$') || graph_name(name) != name {
            let message = format!("`{name}` cannot be the name of a role");
            let hint = format!(
                "names with `$` are reserved, and `{START}` and `{END}` (earlier `__start__`, `__end__`) are the ends of the graph"
            );
            problems.error("reserved-name", at, message, Some(hint));
        } else if let Some(fault) = fault(name) {
            problems.error("bad-name", at, format!("the role name `{}` {fault}", name.escape_debug()), None);
        } else if name.starts_with('-') {
            let message = format!("the role name `{name}` starts with `-` and would be read as an option");
            problems.error("bad-name", at, message, None);
        }
    }
    for name in draft.conditions.keys() {
        let at = positions.key(&join("/conditions", name));
        if name.starts_with('$') {
            let message = format!("`{name}` cannot be the name of a condition");
            problems.error("reserved-name", at, message, Some("names with `$` are reserved".to_owned()));
        } else if let Some(fault) = fault(name) {
            problems.error("bad-name", at, format!("the condition name `{}` {fault}", name.escape_debug()), None);
        }
    }
}

/// Why a text can't be a name, as a clause after the name.
fn fault(name: &str) -> Option<String> {
    let symbols = name.chars().count();
    if name.trim().is_empty() {
        Some("is empty".to_owned())
    } else if name.trim() != name {
        Some("starts or ends with white space".to_owned())
    } else if name.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')) {
        Some("contains a control character".to_owned())
    } else if symbols > MAX_NAME {
        Some(format!("has {symbols} characters; the limit is {MAX_NAME}"))
    } else {
        None
    }
}

/// Why a workflow can't have this name; `None` if it can.
#[must_use]
pub fn name_fault(name: &str) -> Option<String> {
    let is_taken = name.starts_with(['-', '.', '$']) || name.contains(['/', '\\']);
    fault(name).or_else(|| is_taken.then(|| "would be read as an option or a path".to_owned()))
}

fn check_workflow(name: &str, positions: &SourcePositions, file_stem: Option<&str>, problems: &mut ProblemCollector) {
    if positions.is_broken("/name") {
        return;
    }
    let at = positions.value("/name");
    if let Some(fault) = name_fault(name) {
        let hint = "use words joined by `-`".to_owned();
        problems.error("bad-name", at, format!("the workflow name `{}` {fault}", name.escape_debug()), Some(hint));
        return;
    }
    if !is_kebab(name) {
        let message = format!("the workflow name `{name}` is not kebab-case");
        problems.warning("name-style", at, message, kebab(name).map(|better| format!("call it `{better}`")));
    }
    if let Some(stem) = file_stem.filter(|stem| *stem != name) {
        let message = format!("the workflow is named `{name}` but its file `{stem}`");
        problems.warning("name-not-file", at, message, Some("give both the same name".to_owned()));
    }
}

fn is_kebab(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.split('-').all(is_word) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The name in kebab-case, if it has letters for it.
fn kebab(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            out.push('-');
            after_lower = false;
            continue;
        }
        if c.is_ascii_uppercase() && after_lower {
            out.push('-');
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    let words: Vec<&str> = out.split('-').filter(|word| !word.is_empty()).collect();
    // Kebab-case would drop most of a name in another script.
    let is_most_of_it = |better: &String| better.len() * 2 > name.chars().count();
    Some(words.join("-")).filter(|better| is_kebab(better) && is_most_of_it(better))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_name_is_suggested_when_possible() {
        for (name, better) in [
            ("ünï", None),
            ("SolveIssue", Some("solve-issue")),
            ("solve_issue", Some("solve-issue")),
            ("Solve an issue!", Some("solve-an-issue")),
            ("2fast", None),
            ("日本", None),
        ] {
            assert_eq!(kebab(name).as_deref(), better, "{name}");
        }
    }
}
