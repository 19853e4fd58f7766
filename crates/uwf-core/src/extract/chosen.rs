//! Finds a sentence that chooses another value of an enum than the answer: `I rate this as low`.

use super::mentions::{KeyChoice, KeyChoices};
use super::prose::{ProseClause, ProseSentence};
use super::scalar::normal;
use super::statements::is_denial;
use super::verdict_words::{CONDITIONS, EARLIER, OWN};

/// Verbs of a choice.
const CHOOSE: [&str; 22] = [
    "rate",
    "rating",
    "classify",
    "classifying",
    "choose",
    "choosing",
    "pick",
    "picking",
    "go",
    "going",
    "set",
    "setting",
    "treat",
    "recommend",
    "use",
    "consider",
    "call",
    "say",
    "choice",
    "pick",
    "rating",
    "assign",
];

/// Words behind a chosen value.
const FOLLOWING: [&str; 19] = [
    "severity",
    "priority",
    "issue",
    "bug",
    "problem",
    "one",
    "regression",
    "defect",
    "vulnerability",
    "incident",
    "as",
    "for",
    "here",
    "this",
    "it",
    "the",
    "instead",
    "risk",
    "these",
];

/// Words before a value that the work has: `this is a critical issue`.
const ARTICLES: [&str; 10] = ["a", "an", "is", "it's", "that's", "rather", "clearly", "definitely", "be", "as"];

/// Returns the first sentence that chooses another value.
pub(super) fn other_choice<'s>(sentences: &'s [ProseSentence], choices: &KeyChoices<'_>) -> Option<&'s ProseSentence> {
    let choices = || choices.iter().filter(|(_, choice)| choice.said.is_string());
    let is_now = |sentence: &&ProseSentence| {
        !sentence.is_question && !sentence.has(CONDITIONS) && !sentence.has(EARLIER) && !sentence.has(&["or"])
    };
    sentences.iter().filter(is_now).find(|sentence| choices().any(|(key, choice)| chooses(sentence, key, choice)))
}

fn chooses(sentence: &ProseSentence, key: &str, choice: &KeyChoice<'_>) -> bool {
    let said = choice.said.as_str().map(normal).unwrap_or_default();
    let is_said = |clause: &ProseClause| (0..clause.words.len()).any(|at| names(&clause.words, at, &said).is_some());
    let is_other = |clause: &ProseClause| {
        let others = choice.words.iter().filter(|(_, value)| *value != choice.said);
        others.into_iter().any(|(word, _)| (0..clause.words.len()).any(|at| is_chosen(&clause.words, at, word, key)))
    };
    !sentence.clauses.iter().any(is_said) && sentence.clauses.iter().any(is_other)
}

/// Whether the words choose a value that begins at an index.
fn is_chosen(words: &[String], at: usize, value: &str, key: &str) -> bool {
    let Some(length) = names(words, at, value) else { return false };
    let (before, behind) = (&words[..at], &words[at + length..]);
    if before.iter().any(|word| is_denial(word) || word == "no") {
        return false;
    }
    let is_end = behind.first().is_none_or(|word| FOLLOWING.contains(&word.as_str()));
    let own = before.iter().position(|word| OWN.contains(&word.as_str()));
    let is_verb = normal(&words[at]) != value || value.len() > 5;
    let is_own = own.is_some_and(|own| {
        before[own..].iter().any(|word| CHOOSE.contains(&word.as_str())) || is_verb && before.len() - own <= 2
    });
    let has_key = words.iter().any(|word| normal(word) == key);
    let is_work = before.first().is_some_and(|word| matches!(word.as_str(), "this" | "it" | "it's" | "that's"))
        && before.len() <= 4
        && before.last().is_some_and(|word| ARTICLES.contains(&word.as_str()));
    let is_best = before.is_empty()
        && behind.first().is_some_and(|word| matches!(word.as_str(), "is" | "would"))
        && behind.iter().any(|word| matches!(word.as_str(), "choice" | "option" | "fit" | "pick"));
    is_end && (has_key || is_own || is_work) || is_best
}

/// The number of words at an index that stand for a value, also as a verb: `rejecting`.
fn names(words: &[String], at: usize, value: &str) -> Option<usize> {
    let one = normal(&words[at]);
    let is_form = || {
        let stem = value.strip_suffix('e').unwrap_or(value);
        stem.len() > 4 && one.strip_prefix(stem).is_some_and(|end| matches!(end, "e" | "ing" | "s" | "es"))
    };
    if one == value || is_form() {
        return Some(1);
    }
    let two = words.get(at + 1).map(|next| one + &normal(next))?;
    (two == value).then_some(2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::prose::sentences;
    use super::*;

    fn is_contrary(text: &str, value: &str) -> bool {
        let value = json!(value);
        let allowed = ["low", "high", "critical", "approve", "reject", "needs-work", "go"];
        let choice = KeyChoice::of_strings(&value, allowed.into_iter());
        let choices = KeyChoices::from([("severity".to_owned(), choice)]);
        other_choice(&sentences(text), &choices).is_some()
    }

    #[test]
    fn another_choice_in_a_sentence_is_found() {
        for text in [
            "I rate this as low.",
            "The severity should be low.",
            "This is a low severity issue.",
            "I'm rejecting this.",
            "My choice is go",
            "Let's use Go here",
            "Go is the best choice.",
            "It needs work, so I'd go with needs work",
        ] {
            assert!(is_contrary(text, "high"), "{text}");
        }
    }

    #[test]
    fn other_sentences_choose_nothing() {
        for text in [
            "It's not critical by any measure.",
            "I'll go through the change.",
            "This is a low traffic page.",
            "I rate this as high, not low.",
            "If it's low, I'd say low.",
            "Earlier I said this is critical.",
            "Is it low?",
            "Memory is low.",
        ] {
            assert!(!is_contrary(text, "high"), "{text}");
        }
    }
}
