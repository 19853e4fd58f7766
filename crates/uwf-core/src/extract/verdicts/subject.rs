//! Decides whether a sentence is about the work or about a part of the code.

use super::super::prose::ProseSentence;
use super::verdict_words::{LABELS, PROBLEMS, WORK};

/// People whose duties a review names.
const PERSONS: &[&str] = &["author", "you", "they", "team", "someone", "reviewer"];

/// Words of a subject, with its article.
const SUBJECT: usize = 3;

/// Words before a noun that is the subject.
const ARTICLES: &[&str] = &["the", "a", "an", "each", "every", "both", "all", "any", "its"];

/// Whether a part of the code is the subject: `The parser now rejects bad input`.
pub(super) fn is_of_code(sentence: &ProseSentence) -> bool {
    let words: Vec<&str> = sentence.words().take(SUBJECT).collect();
    let is_article = words.first().is_some_and(|word| ARTICLES.contains(word));
    let is_work = words.iter().any(|word| WORK.contains(word) || LABELS.contains(word) || is_problem(word));
    sentence.text.trim_start().starts_with('`') || is_article && !is_work
}

fn is_problem(noun: &str) -> bool {
    PROBLEMS.iter().any(|problem| noun.starts_with(problem))
}

/// Whether a label names a part of the work: `Docs: fine`.
pub(super) fn is_of_part(sentence: &ProseSentence) -> bool {
    let label = sentence.clauses.first().filter(|clause| clause.is_label);
    label.is_some_and(|label| !label.words.last().is_some_and(|word| LABELS.contains(&word.as_str())))
}

/// Whether a label says that a remark is small: `One nit: the name should be longer`.
pub(super) fn is_nit(sentence: &ProseSentence) -> bool {
    let is_small = |word: &String| {
        ["nit", "minor", "optional", "suggestion", "cosmetic"].iter().any(|small| word.starts_with(small))
    };
    sentence.clauses.first().is_some_and(|clause| clause.words.iter().take(SUBJECT).any(is_small))
}

/// Whether a part of the code precedes a word: `the function must`, but not `the leak must`.
pub(super) fn follows_code(words: &[String], at: usize) -> bool {
    let subject = at.checked_sub(2).map(|begin| [words[begin].as_str(), words[begin + 1].as_str()]);
    let is_code = |noun: &str| !WORK.contains(&noun) && !PERSONS.contains(&noun) && !is_problem(noun);
    subject.is_some_and(|[article, noun]| ARTICLES.contains(&article) && is_code(noun))
}

/// Whether a word only describes a noun: `bad input`, but not `a bad idea`.
pub(super) fn is_attribute(words: &[String], at: usize) -> bool {
    let is_judged = |noun: &String| JUDGED.contains(&noun.as_str());
    let is_adjective = matches!(words[at].as_str(), "bad" | "wrong" | "missing");
    let is_predicate =
        at.checked_sub(1).is_some_and(|before| matches!(words[before].as_str(), "is" | "are" | "too" | "looks"));
    is_adjective && !is_predicate && words.get(at + 1).is_some_and(|noun| !is_judged(noun))
}

/// Nouns of a judgement.
const JUDGED: &[&str] = &[
    "idea",
    "design",
    "approach",
    "direction",
    "abstraction",
    "way",
    "place",
    "layer",
    "call",
    "choice",
    "tests",
    "test",
    "field",
    "value",
    "key",
    "moment",
    "time",
    "answer",
];

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn sentences_about_code_are_not_verdicts() {
        for (text, is) in [
            ("The parser now rejects bad input.", true),
            ("`close` must not be called twice.", true),
            ("The change is bad.", false),
            ("The verdict is no.", false),
            ("I don't like it.", false),
        ] {
            assert_eq!(is_of_code(&sentences(text)[0]), is, "{text}");
        }
    }

    #[test]
    fn bad_input_is_not_bad_work() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert!(is_attribute(&words("reject bad input"), 1));
        assert!(!is_attribute(&words("a bad idea"), 1) && !is_attribute(&words("this is bad"), 2));
    }
}
