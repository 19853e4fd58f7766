//! Finds approvals that hold only under a condition.

/// Words of a condition, in lower case. The languages without spaces between words come last.
const CONDITIONAL: &[&str] = &[
    "only if ",
    "only when ",
    "only once ",
    "only after ",
    "subject to ",
    "on condition ",
    "on the condition ",
    "under the condition ",
    "as long as ",
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

/// Words that begin a condition, but also other sentences: `The provided tests pass`, `Pending items are listed below`.
const UNCERTAIN: &[&str] = &["provided ", "providing ", "assuming ", "pending "];

/// Words behind an uncertain word that make it a condition: `Provided that the tests pass`.
const AFTER_UNCERTAIN: &[&str] =
    &["that", "the", "this", "these", "those", "all", "no", "nothing", "nobody", "you", "it", "they", "we", "i"];

/// Words in front of an uncertain word that make it an attribute of the next word: `The pending tests`.
const ATTRIBUTIVE: &[&str] = &["the", "my", "a", "this", "i", "with"];

/// Most words of a condition that is nothing else: `Pending CI`.
const SHORT_CONDITION: usize = 3;

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
    let said = format!("{said} ");
    let is_after_approval = |at: usize| words(&said[..at]).all(|word| BEFORE_CONDITION.contains(&word));
    let is_sure = |condition: &&str| said.find(*condition).is_some_and(is_after_approval);
    let is_meant = |condition: &&str| {
        said.find(*condition).is_some_and(|at| is_after_approval(at) && is_meant_at(&said, at, at + condition.len()))
    };
    CONDITIONAL.iter().any(is_sure) || UNCERTAIN.iter().any(is_meant)
}

/// Whether an uncertain word begins a condition. It ends at `end`.
fn is_meant_at(said: &str, at: usize, end: usize) -> bool {
    match words(&said[..at]).last() {
        Some(last) if ATTRIBUTIVE.contains(&last) => false,
        // `Approved pending CI`
        Some(last) if last.starts_with("approv") || last == "is" => true,
        _ if said.starts_with("providing ") => words(&said[end..]).next() == Some("that"),
        _ => {
            words(&said[end..]).next().is_some_and(|next| AFTER_UNCERTAIN.contains(&next))
                || words(said).count() <= SHORT_CONDITION
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|symbol: char| !symbol.is_alphanumeric()).filter(|word| !word.is_empty())
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
            "Approved pending CI.",
            "Approved, provided tests pass.",
            "Provided that the tests pass.",
            "Assuming all tests pass.",
            "Pending the fixes above.",
            "But pending CI.",
        ] {
            assert!(is_condition(condition), "{condition}");
        }
        for other in [
            "The cache is used only if the flag is set.",
            "It works as long as the server runs.",
            "Only if you like: rename the helper?",
            "The tests pass.",
            "The provided tests pass.",
            "Provided fixes look correct to me.",
            "Providing a default keeps old callers working.",
            "Pending items are listed below.",
            "This pending migration is safe.",
            "",
        ] {
            assert!(!is_condition(other), "{other}");
        }
    }
}
