//! Reads what a label or `my answer is` introduces: a word or a sign of yes or no.

use super::verdict_words::LABELS;

/// Words before the word that decides: `a clear no`.
const WEIGHTS: &[&str] = &[
    "a",
    "an",
    "the",
    "clear",
    "clearly",
    "strong",
    "strongly",
    "hard",
    "firm",
    "firmly",
    "definite",
    "definitely",
    "still",
    "therefore",
    "to",
    "that",
    "it",
    "is",
    "of",
    "currently",
    "unfortunately",
    "sadly",
    "simply",
    "overall",
    "my",
    "final",
    "therefore",
    "thus",
    "so",
    "for",
    "now",
    "be",
];

/// Most words behind a label that are read.
const MAX_WORDS: usize = 8;

/// Words that decide, and whether they accept. Longer groups come before their beginnings.
const DECIDING: &[(&str, bool)] = &[
    ("no objections", true),
    ("no objection", true),
    ("no issues", true),
    ("no blockers", true),
    ("no concerns", true),
    ("no problems", true),
    ("no changes", true),
    ("no errors", true),
    ("no regressions", true),
    ("yes", true),
    ("pass", true),
    ("passed", true),
    ("passes", true),
    ("success", true),
    ("approve", true),
    ("approved", true),
    ("approval", true),
    ("accept", true),
    ("accepted", true),
    ("merge", true),
    ("ship", true),
    ("lgtm", true),
    ("positive", true),
    ("ja", true),
    ("oui", true),
    ("approuvé", true),
    ("freigegeben", true),
    ("angenommen", true),
    ("通过", true),
    ("批准", true),
    ("同意", true),
    ("no-go", false),
    ("no go", false),
    ("no", false),
    ("nope", false),
    ("against", false),
    ("fail", false),
    ("failed", false),
    ("fails", false),
    ("failing", false),
    ("failure", false),
    ("block", false),
    ("blocked", false),
    ("blocking", false),
    ("reject", false),
    ("rejected", false),
    ("rejection", false),
    ("refuse", false),
    ("refused", false),
    ("deny", false),
    ("denied", false),
    ("decline", false),
    ("declined", false),
    ("veto", false),
    ("negative", false),
    ("unfavorable", false),
    ("unfavourable", false),
    ("unsatisfactory", false),
    ("insufficient", false),
    ("inadequate", false),
    ("unacceptable", false),
    ("nack", false),
    ("minus one", false),
    ("revise", false),
    ("rework", false),
    ("resubmit", false),
    ("send back", false),
    ("send it back", false),
    ("needs work", false),
    ("needs changes", false),
    ("needs revision", false),
    ("needs rework", false),
    ("changes requested", false),
    ("changes required", false),
    ("changes needed", false),
    ("request changes", false),
    ("major revision", false),
    ("major revisions", false),
    ("incomplete", false),
    ("abandon", false),
    ("not", false),
    ("don't", false),
    ("do not", false),
    ("cannot", false),
    ("can't", false),
    ("nein", false),
    ("abgelehnt", false),
    ("ablehnung", false),
    ("ablehnen", false),
    ("nicht", false),
    ("non", false),
    ("refusé", false),
    ("refusée", false),
    ("rejeté", false),
    ("rejetée", false),
    ("refus", false),
    ("rejet", false),
    ("不通过", false),
    ("未通过", false),
    ("不批准", false),
    ("不同意", false),
    ("拒绝", false),
    ("驳回", false),
    ("否", false),
];

/// Words behind which a denial is praise: `Verdict: not blocking`.
const HARMLESS: &[&str] =
    &["blocking", "a", "urgent", "affected", "applicable", "needed", "necessary", "required", "yet"];

/// Whether a label names a verdict.
pub(super) fn names_verdict(label: &[String]) -> bool {
    label.last().is_some_and(|word| LABELS.contains(&word.as_str()))
}

/// Whether a label asks whether the work is accepted: `Ready to merge`.
pub(super) fn names_acceptance(label: &[String]) -> bool {
    let is_verb = |word: &str| {
        matches!(word, "ready" | "readiness" | "approve" | "approval" | "merge" | "ship" | "release" | "accept")
    };
    let is_help = |word: &str| matches!(word, "to" | "for" | "can" | "be" | "i" | "this" | "should" | "it" | "ok");
    label.len() <= 4
        && label.iter().any(|word| is_verb(word))
        && label.iter().all(|word| is_verb(word) || is_help(word))
}

/// Whether the words behind such a label are a yes or a no.
pub(super) fn reply(words: &[&str]) -> Option<bool> {
    match words {
        ["yes"] => Some(true),
        ["no" | "nope" | "never"] | ["not", "yet"] => Some(false),
        _ => None,
    }
}

/// Returns the words behind `my answer is`, wherever they begin in the clause.
pub(super) fn introduced<'w, 'c>(words: &'w [&'c str]) -> Option<&'w [&'c str]> {
    let is_verb = |word: &str| matches!(word, "is" | "remains" | "stays" | "would" | "must" | "will");
    let begin = words
        .windows(3)
        .position(|three| matches!(three[0], "my" | "our") && LABELS.contains(&three[1]) && is_verb(three[2]));
    // `My final answer remains no`.
    let with_adjective = || {
        let begin = words
            .windows(4)
            .position(|four| matches!(four[0], "my" | "our") && LABELS.contains(&four[2]) && is_verb(four[3]));
        begin.map(|at| &words[at + 4..])
    };
    // `Treat this as a rejection`.
    let as_order = || {
        let begin = words.windows(3).position(|three| {
            matches!(three[0], "treat" | "count" | "consider" | "take" | "read" | "see")
                && matches!(three[1], "this" | "it" | "that")
                && three[2] == "as"
        });
        begin.map(|at| &words[at + 3..])
    };
    begin.map(|at| &words[at + 3..]).or_else(with_adjective).or_else(as_order)
}

/// Whether the words behind a label accept; `None` if they don't decide. A sign decides only if the words don't.
pub(super) fn accepts(words: &[&str], sign: Option<bool>) -> Option<bool> {
    let weights = words.iter().take_while(|word| WEIGHTS.contains(word)).count();
    let words = &words[weights..];
    let begins = |group: &str| {
        let mut at = words.iter();
        group.split(' ').all(|word| at.next() == Some(&word))
    };
    let decided = DECIDING.iter().find(|(group, _)| begins(group)).filter(|_| words.len() <= MAX_WORDS);
    let Some((group, accepts)) = decided else { return sign };
    let next = words.get(group.split(' ').count()).copied().unwrap_or_default();
    let is_denial = matches!(*group, "not" | "don't" | "do not" | "cannot" | "can't" | "nicht");
    // `no tests were run` and `passed 3 of 4` need the other rules.
    let is_reply = matches!(*group, "no" | "block" | "merge" | "pass" | "fail" | "ship" | "non");
    match next {
        _ if is_denial && HARMLESS.contains(&next) => None,
        _ if is_denial => next_accepts(next).map(|accepts| !accepts),
        "" | "from" | "for" | "because" | "until" | "unless" | "it" | "this" | "as" | "at" | "due" | "by" => {
            Some(*accepts)
        }
        _ if is_reply => None,
        _ if next.starts_with(|first: char| first.is_ascii_digit()) => None,
        _ => Some(*accepts),
    }
}

/// Whether a word behind a denial is one of acceptance. Unknown words are.
fn next_accepts(word: &str) -> Option<bool> {
    let known = DECIDING.iter().find(|(group, _)| *group == word).map(|(_, accepts)| *accepts);
    let begins = |stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
    known
        .or_else(|| begins(&["ready", "good", "ok", "accept", "approv", "merg", "sufficient", "freig"]).then_some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_behind_a_label_decide() {
        for (text, accepts) in [
            ("no", Some(false)),
            ("a clear no", Some(false)),
            ("not approved", Some(false)),
            ("not blocking", None),
            ("no objections", Some(true)),
            ("no tests", None),
            ("approved with nits", Some(true)),
            ("see below", None),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(super::accepts(&words, None), accepts, "{text}");
        }
        assert_eq!(super::accepts(&[], Some(false)), Some(false));
    }

    #[test]
    fn my_answer_introduces_words_anywhere() {
        assert_eq!(introduced(&["after", "all", "my", "answer", "is", "no"]), Some(&["no"][..]));
        assert_eq!(introduced(&["my", "final", "verdict", "is", "no"]), Some(&["no"][..]));
        assert_eq!(introduced(&["the", "answer", "is", "no"]), None);
    }
}
