//! Finds a sentence in which the agent speaks for itself without praise and without a report. Beside an approval, it is doubtful.

use super::super::lines::names_answer;
use super::super::prose::ProseSentence;
use super::verdict_words::{ABSENCES, EARLIER, is_denial};

/// The first sentence in which the agent speaks for itself without a report: `Red light from my side`.
pub(super) fn doubting(sentences: &[ProseSentence]) -> Option<&ProseSentence> {
    sentences.iter().find(|sentence| {
        let words: Vec<&str> = sentence.words().collect();
        let own = words.iter().position(|word| matches!(*word, "i" | "me" | "my" | "mine" | "i'd" | "i'm" | "i'll"));
        let Some(own) = own.filter(|_| !sentence.is_question && !sentence.has(EARLIER)) else { return false };
        let is_report = words.iter().any(|word| is_past(word)) || words[..own].ends_with(&["all", "of"]);
        let begins = words[..own].iter().any(|word| matches!(*word, "let" | "here"));
        let names = |name: &&str| names_answer(name) || REMARKS.contains(name);
        let is_named = words[own + 1..].iter().take(2).any(names);
        let is_later = words.iter().any(|word| word.starts_with("follow") || matches!(*word, "later" | "separately"));
        let is_conceded = sentence.clauses.iter().skip(1).any(|clause| clause.is_contrast);
        let is_denied = words.iter().any(|word| is_denial(word) || ABSENCES.contains(word));
        !is_report && !begins && !is_named && !is_later && !is_conceded && !is_denied && !is_announcement(sentence)
    })
}

/// Names of remarks, which may be small.
const REMARKS: &[&str] =
    &["remark", "remarks", "comment", "comments", "note", "notes", "nit", "nits", "question", "point"];

/// Whether a sentence announces what follows: `Mine:`, `and mine is`.
fn is_announcement(sentence: &ProseSentence) -> bool {
    let last = sentence.clauses.last();
    last.is_some_and(|clause| clause.is_label || clause.words.last().is_some_and(|word| word == "is"))
}

/// Whether a word is a past tense, as in reports: `I read it`.
fn is_past(word: &str) -> bool {
    let irregular = [
        "read", "ran", "went", "took", "found", "saw", "had", "did", "have", "i've", "was", "made", "built", "wrote",
        "left", "kept", "put", "set", "gave", "got", "knew", "thought", "let", "said", "sent",
    ];
    word.len() > 3 && word.ends_with("ed") && !word.ends_with("eed") || irregular.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn unknown_sentences_in_first_person_are_doubtful() {
        for (text, is) in [
            ("Red light from my side.", true),
            ("I would rather see it split.", true),
            ("I read the diff twice.", false),
            ("My only remark is about the name.", false),
            ("Let me know if you need more.", false),
            ("It adds a flag.", false),
        ] {
            assert_eq!(doubting(&sentences(text)).is_some(), is, "{text}");
        }
    }
}
