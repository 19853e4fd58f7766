//! Finds a sentence in which the agent speaks for itself without praise and without a report. Beside an approval, it is doubtful.

use super::super::lines::names_answer;
use super::super::prose::ProseSentence;
use super::verdict_words::{ABSENCES, STILL, is_denial, is_earlier};

/// The first sentence in which the agent speaks for itself without a report: `Red light from my side`.
pub(super) fn doubting(sentences: &[ProseSentence]) -> Option<&ProseSentence> {
    sentences.iter().find(|sentence| {
        let words: Vec<&str> = sentence.words().collect();
        let own = words.iter().position(|word| matches!(*word, "i" | "me" | "my" | "mine" | "i'd" | "i'm" | "i'll"));
        let Some(own) = own.filter(|_| !sentence.is_question && !is_earlier(sentence)) else { return false };
        let is_report = words.iter().any(|word| is_past(word)) || words[..own].ends_with(&["all", "of"]);
        let begins = words[..own].iter().any(|word| matches!(*word, "let" | "here"));
        let names = |name: &&str| names_answer(name) || REMARKS.contains(name);
        let is_named = words[own + 1..].iter().take(2).any(names);
        let is_later = words.iter().any(|word| word.starts_with("follow") || matches!(*word, "later" | "separately"));
        let is_conceded = sentence.clauses.iter().skip(1).any(|clause| clause.is_contrast);
        let is_denied = words.iter().any(|word| is_denial(word) || ABSENCES.contains(word));
        let is_report = is_report || is_narration(&words, own);
        let is_liked = matches!(words[own..], ["i", "like" | "love", "it" | "this", ..]);
        // `My approval stands`.
        let is_kept = sentence.has(STILL) && words.contains(&"approval");
        !is_report
            && !is_kept
            && !is_liked
            && !begins
            && !is_named
            && !is_later
            && !is_conceded
            && !is_denied
            && !is_announcement(sentence)
    })
}

/// Whether a sentence says what the agent does now or next: `I'll start with the tests`. Wishes don't count.
fn is_narration(words: &[&str], own: usize) -> bool {
    let verb = words[own + 1..].iter().find(|word| !AUXILIARIES.contains(word) && !word.ends_with("ly"));
    matches!(words[own], "i" | "i'm" | "i'll")
        && verb.is_some_and(|verb| ACTS.iter().any(|act| verb.starts_with(act)))
        && !words.iter().any(|word| WISHES.contains(word))
}

/// Words between `I` and the verb of a narration: `I am now going to read it`.
const AUXILIARIES: &[&str] =
    &["will", "am", "can", "need", "want", "have", "to", "now", "first", "also", "then", "just", "next", "going"];

/// Beginnings of verbs for the work of a reviewer or a coder.
const ACTS: &[&str] = &[
    "add",
    "address",
    "analy",
    "answer",
    "appl",
    "begin",
    "build",
    "call",
    "chang",
    "check",
    "clon",
    "collect",
    "compar",
    "compil",
    "confirm",
    "continu",
    "creat",
    "diff",
    "dig",
    "document",
    "edit",
    "examin",
    "execut",
    "explor",
    "fetch",
    "fix",
    "focus",
    "gather",
    "go",
    "grep",
    "implement",
    "inspect",
    "install",
    "investigat",
    "know",
    "list",
    "look",
    "mov",
    "navigat",
    "open",
    "plan",
    "proceed",
    "produc",
    "provid",
    "read",
    "refactor",
    "renam",
    "report",
    "respond",
    "return",
    "review",
    "run",
    "scan",
    "search",
    "skim",
    "start",
    "submit",
    "summar",
    "switch",
    "test",
    "trac",
    "try",
    "understand",
    "updat",
    "us",
    "verif",
    "walk",
    "work",
    "writ",
];

/// Words of a wish, or of a condition for what the agent would do.
const WISHES: &[&str] = &[
    "would", "i'd", "should", "could", "rather", "prefer", "wish", "like", "before", "until", "unless", "instead",
    "hesitate", "worry", "afraid", "wary", "again", "back", "further", "more",
];

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
            ("I like it.", false),
            ("I'd like it split.", true),
            ("My only remark is about the name.", false),
            ("Let me know if you need more.", false),
            ("It adds a flag.", false),
            ("I would look at this again.", true),
            ("I look around.", false),
            ("I'll start by reading the diff.", false),
            ("I am now going to carefully read it.", false),
            ("Now I understand the structure.", false),
            ("First, I'll run the tests and then check the docs.", false),
            ("I need to check the configuration first.", false),
            ("I'm walking through the files one by one.", false),
            ("I can confirm that the tests pass.", false),
            ("I will now provide my verdict.", false),
        ] {
            assert_eq!(doubting(&sentences(text)).is_some(), is, "{text}");
        }
    }
}
