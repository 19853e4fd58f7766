//! Finds a sentence that chooses another value of an enum than the answer: `I rate this as low`.

use super::super::mentions::{KeyChoice, KeyChoices};
use super::super::prose::{ProseClause, ProseSentence};
use super::super::scalar::normal;
use super::label_words::names_verdict;
use super::of_word;
use super::verdict_words::{CONDITIONS, LABELS, OWN, is_denial, is_earlier};

/// Verbs of a choice.
const CHOOSE: [&str; 32] = [
    "lean",
    "leaning",
    "inclined",
    "prefer",
    "favor",
    "favour",
    "suggest",
    "propose",
    "vote",
    "advise",
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

/// Words for who proposes.
const PERSONS: [&str; 6] = ["i", "i'd", "i'll", "we", "we'd", "let's"];

/// Words before a value that the work has: `this is a critical issue`.
const ARTICLES: [&str; 10] = ["a", "an", "is", "it's", "that's", "rather", "clearly", "definitely", "be", "as"];

/// Returns the first sentence that chooses another value.
pub(super) fn other_choice<'s>(sentences: &'s [ProseSentence], choices: &KeyChoices<'_>) -> Option<&'s ProseSentence> {
    let choices = || choices.iter().filter(|(_, choice)| choice.said.is_string());
    let is_now = |sentence: &&ProseSentence| {
        !sentence.is_question && !sentence.has(CONDITIONS) && !is_earlier(sentence) && !sentence.has(&["or"])
    };
    sentences.iter().filter(is_now).find(|sentence| choices().any(|(key, choice)| chooses(sentence, key, choice)))
}

fn chooses(sentence: &ProseSentence, key: &str, choice: &KeyChoice<'_>) -> bool {
    let said = choice.said.as_str().map(normal).unwrap_or_default();
    // `No-go` names a value that begins with another.
    let is_said = |clause: &ProseClause| {
        (0..clause.words.len()).any(|at| {
            let is_longer = choice.words.keys().any(|other| {
                other.len() > said.len()
                    && (at.saturating_sub(1)..=at).any(|at| names(&clause.words, at, other).is_some())
            });
            names(&clause.words, at, &said).is_some() && !is_longer
        })
    };
    let others = || choice.words.iter().filter(|(_, value)| *value != choice.said).map(|(word, _)| word);
    let is_other = |clause: &ProseClause| {
        others().any(|word| (0..clause.words.len()).any(|at| is_chosen(&clause.words, at, word, key)))
    };
    let is_alone = || {
        let is_heading = sentence.text.starts_with('#');
        let words: Vec<String> = sentence.words().map(str::to_owned).collect();
        !is_heading && is_verdict_line(sentence) && others().any(|word| is_only(&words, word))
    };
    let is_labelled = || {
        let mut pairs = sentence.clauses.windows(2);
        pairs.any(|pair| {
            pair[0].is_label && names_verdict(&pair[0].words) && others().any(|word| begins(&pair[1], word))
        })
    };
    // `Rejected.` beside a milder verdict.
    let is_ruling = || {
        let words: Vec<&str> = sentence.words().collect();
        matches!(words[..], [word] if of_review(word) && others().any(|other| is_past_of(word, other)))
    };
    let is_chosen = || sentence.clauses.iter().any(is_other);
    !sentence.clauses.iter().any(is_said) && (is_chosen() || is_alone() || is_labelled() || is_ruling())
}

/// Whether a sentence may be a verdict in one word: `**NO-GO**`.
fn is_verdict_line(sentence: &ProseSentence) -> bool {
    let text = sentence.text.trim();
    text.starts_with("**") || text.chars().all(|symbol| !symbol.is_lowercase())
}

/// Whether a word is the past of a verb: `rejected`.
fn is_past_of(word: &str, verb: &str) -> bool {
    word == verb || word.strip_prefix(verb).is_some_and(|end| matches!(end, "d" | "ed"))
}

fn of_review(word: &str) -> bool {
    of_word(word).is_some_and(|(topic, _)| topic.takes_objects)
}

fn is_only(words: &[String], value: &str) -> bool {
    !words.is_empty() && names(words, 0, value) == Some(words.len())
}

/// Whether a clause begins with a value, and otherwise says only why.
fn begins(clause: &ProseClause, value: &str) -> bool {
    let words =
        &clause.words[clause.words.iter().take_while(|word| matches!(word.as_str(), "to" | "a" | "an")).count()..];
    let Some(length) = words.first().and_then(|_| names(words, 0, value)) else { return false };
    words
        .get(length)
        .is_none_or(|word| FOLLOWING.contains(&word.as_str()) || matches!(word.as_str(), "because" | "until"))
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
    // `Please keep this open`.
    let is_asked = matches!(before, [please] if please == "please") && is_of_work(behind);
    let is_vote = before.first().is_some_and(|word| word == "+1") && before.len() <= 2;
    let is_verb = normal(&words[at]) != value || value.len() > 5;
    let is_own = own.is_some_and(|own| {
        let is_choice = |word: &String| CHOOSE.contains(&word.as_str()) || LABELS.contains(&word.as_str());
        before[own..].iter().any(is_choice) || is_verb && before.len() - own <= 2
    });
    let is_proposed = before.iter().rev().take(4).any(|word| PERSONS.contains(&word.as_str()))
        && before.last().is_some_and(|word| is_proposal(word))
        && is_of_work(behind);
    let has_key = words.iter().any(|word| normal(word) == key);
    let is_work = before.first().is_some_and(|word| matches!(word.as_str(), "this" | "it" | "it's" | "that's"))
        && before.len() <= 4
        && before.last().is_some_and(|word| ARTICLES.contains(&word.as_str()));
    let is_best = before.is_empty()
        && behind.first().is_some_and(|word| matches!(word.as_str(), "is" | "would"))
        && behind
            .iter()
            .any(|word| matches!(word.as_str(), "choice" | "option" | "fit" | "pick") || normal(word) == key);
    // `The right thing is to close it`.
    let is_right = matches!(before, [.., verb, to] if to == "to" && matches!(verb.as_str(), "is" | "be" | "recommend"))
        && is_of_work(behind);
    // `Closing this as a duplicate`.
    let is_gerund = before.is_empty() && words[at].ends_with("ing") && is_of_work(behind) && !behind.is_empty();
    is_asked || is_gerund || is_end && (has_key || is_own || is_work) || is_proposed || is_right || is_vote || is_best
}

/// Whether a verb behind a word proposes something: `I'd close this`, `we should close this`.
fn is_proposal(word: &str) -> bool {
    word.ends_with("'d") || word.ends_with("'ll") || matches!(word, "would" | "should" | "must" | "will" | "let's")
}

/// Whether a verb ends here, or the work is its object.
fn is_of_work(behind: &[String]) -> bool {
    let is = |at: usize, list: &[&str]| behind.get(at).is_some_and(|word| list.contains(&word.as_str()));
    behind.is_empty()
        || is(0, &["this", "it", "that", "these", "as", "for", "here", "now", "instead"])
        || is(0, &["the"])
            && is(1, &["issue", "ticket", "pr", "request", "change", "proposal", "item", "bug", "report"])
}

/// The number of words at an index that stand for a value, also as a verb: `rejecting`.
fn names(words: &[String], at: usize, value: &str) -> Option<usize> {
    let one = normal(&words[at]);
    let is_form = || {
        let stem = value.strip_suffix('e').unwrap_or(value);
        stem.len() >= 4 && one.strip_prefix(stem).is_some_and(|end| matches!(end, "e" | "ing" | "s" | "es"))
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

    use super::super::super::prose::sentences;
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
