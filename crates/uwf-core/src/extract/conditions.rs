//! Finds approvals that hold only under a condition.

/// Words of a condition, in lower case. The languages without spaces between words come last.
const CONDITIONAL: &[&str] = &[
    "only if ",
    "only when ",
    "only once ",
    "only after ",
    "provided ",
    "providing ",
    "subject to ",
    "on condition ",
    "on the condition ",
    "under the condition ",
    "as long as ",
    "assuming ",
    "pending ",
    "conditional on ",
    "conditional upon ",
    "contingent on ",
    "contingent upon ",
    "nur, wenn ",
    "nur wenn ",
    "vorausgesetzt",
    "unter der bedingung",
    "unter vorbehalt",
    "à condition ",
    "sous réserve ",
    "seulement si ",
    "siempre que ",
    "siempre y cuando",
    "solo si ",
    "sólo si ",
    "a condizione ",
    "solo se ",
    "desde que ",
    "somente se ",
    "при условии",
    "только если ",
    "前提是",
    "条件是",
    "前提に",
    "条件に",
    "条件として",
    "조건으로",
    "조건부",
];

/// Words before a condition: `But only if the tests pass`.
const BEFORE_CONDITION: &[&str] = &[
    "but", "and", "though", "however", "well", "yes", "ok", "approved", "approve", "this", "approval", "is", "the",
    "my", "i", "it", "aber", "mais", "pero", "ma", "mas", "но", "only", "with",
];

/// Most words of a condition. A longer sentence explains something.
const MAX_CONDITION: usize = 16;

/// Whether a sentence in a text accepts the work only under a condition: `Only if the tests pass.`
pub(super) fn is_condition(sentence: &str) -> bool {
    let said = sentence.trim().trim_start_matches(['(', '*', '_']).to_lowercase();
    let said = said.trim_end_matches(['.', '!', ')', '。', '*', '_']);
    if said.ends_with('?') || said.split_whitespace().count() > MAX_CONDITION {
        return false;
    }
    CONDITIONAL.iter().any(|condition| {
        let at = format!("{said} ").find(condition);
        at.is_some_and(|at| {
            said[..at]
                .split(|symbol: char| !symbol.is_alphanumeric())
                .all(|word| word.is_empty() || BEFORE_CONDITION.contains(&word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_an_approval_are_found() {
        for condition in [
            "Only if the tests pass.",
            "But only if tests pass",
            "Subject to the fixes above.",
            "This approval is conditional on the tests being added.",
            "Aber nur, wenn die Tests laufen.",
            "前提是测试通过。",
        ] {
            assert!(is_condition(condition), "{condition}");
        }
        for other in [
            "The cache is used only if the flag is set.",
            "It works as long as the server runs.",
            "Only if you like: rename the helper?",
            "The tests pass.",
            "",
        ] {
            assert!(!is_condition(other), "{other}");
        }
    }
}
