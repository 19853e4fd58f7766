//! Compares a value with what the text around it says about the work.
//!
//! If `I can't sign off on this` appears beside `approved: true`, either the value is only mentioned or the agent made a mistake. In both
//! cases the agent must look again.

use serde_json::Value;

use super::chosen::other_choice;
use super::mentions::KeyChoices;
use super::prose::{ProseSentence, sentences};
use super::statements::{WorkVerdict, statements};
use super::tenor;
use super::verdict_words::{REPLIES, REVIEW, TASK, VerdictTopic};

/// Beginnings of keys and values that accept a review.
const ACCEPTS: [&str; 9] = ["approv", "accept", "endors", "merg", "recommend", "ship", "lgtm", "ok", "pass"];

/// Beginnings of keys and values that reject in a review.
const REJECTS: [&str; 9] =
    ["reject", "declin", "refus", "veto", "disapprov", "needswork", "needschang", "request", "revis"];

/// Beginnings of keys and values of a task that is done.
const DONE: [&str; 6] = ["done", "complet", "finish", "succe", "solved", "implemented"];

/// Beginnings of keys and values of a task that is not done.
const NOT_DONE: [&str; 7] = ["fail", "block", "incomplet", "stuck", "abort", "unfinished", "partial"];

/// Words by which a text beside a value that rejects says why.
const DOUBTS: [&str; 14] = [
    "not", "no", "cannot", "but", "however", "although", "unable", "missing", "fails", "failed", "fail", "error",
    "blocked", "except",
];

/// A sentence that contradicts a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContraryLine {
    /// Line number, from 0.
    pub(super) line: usize,
    pub(super) sentence: String,
}

/// Returns the sentence of the text that contradicts the value; `None` if no sentence does. Quotations, questions and code don't count.
pub(super) fn contradiction(text: &str, value: &Value, choices: &KeyChoices<'_>) -> Option<ContraryLine> {
    let sentences = sentences(text);
    let of_topic = || stance(value).and_then(|(topic, is_accepted)| contrary(&sentences, topic, is_accepted));
    other_choice(&sentences, choices).or_else(of_topic).map(ContraryLine::of_sentence)
}

/// Returns the sentence that accepts if the value rejects, or rejects if the value accepts. A weak statement counts only if no other
/// sentence agrees with the value.
fn contrary<'s>(sentences: &'s [ProseSentence], topic: &VerdictTopic, is_accepted: bool) -> Option<&'s ProseSentence> {
    let mut contrary = None;
    let mut agrees = false;
    for (number, sentence) in sentences.iter().enumerate().filter(|(_, sentence)| !sentence.is_question) {
        let mut statements = statements(sentence, topic);
        statements.extend(reply(sentence).filter(|_| number == 0));
        for statement in statements {
            if statement.accepts == is_accepted {
                agrees = true;
            } else if statement.is_firm && is_sure(statement, topic, sentences) {
                return Some(sentence);
            } else {
                contrary.get_or_insert(sentence);
            }
        }
    }
    if agrees {
        return None;
    }
    let doubts = !is_accepted && has_doubts(sentences);
    let tenor = || tenor::opposite(sentences, is_accepted).filter(|_| topic.takes_objects);
    contrary.filter(|_| !doubts).or_else(tenor)
}

impl ContraryLine {
    fn of_sentence(sentence: &ProseSentence) -> ContraryLine {
        ContraryLine { line: sentence.line, sentence: sentence.text.clone() }
    }
}

/// Whether a firm statement contradicts alone. A task may be done in part.
fn is_sure(statement: WorkVerdict, topic: &VerdictTopic, sentences: &[ProseSentence]) -> bool {
    topic.takes_objects || !statement.accepts || !has_doubts(sentences)
}

fn has_doubts(sentences: &[ProseSentence]) -> bool {
    let is_doubt = |word: &str| word.ends_with("n't") || DOUBTS.contains(&word);
    sentences.iter().any(|sentence| sentence.words().any(is_doubt))
}

/// Returns the reply that begins a text: `No, it leaks.`
fn reply(sentence: &ProseSentence) -> Option<WorkVerdict> {
    // `Sorry, but no` has one more clause.
    let is_labelled = sentence.clauses.first().is_some_and(|clause| clause.is_label);
    let mut clauses =
        sentence.clauses.iter().take(if is_labelled { 1 } else { 2 }).filter(|clause| clause.words.len() <= 2);
    let (_, accepts) = clauses.find_map(|clause| REPLIES.iter().find(|(reply, _)| *reply == clause.words.join(" ")))?;
    Some(WorkVerdict { accepts: *accepts, is_firm: true })
}

/// Returns the topic of a value, and whether the value accepts; `None` if it does neither, or both.
fn stance(value: &Value) -> Option<(&'static VerdictTopic, bool)> {
    let of_entry = |(key, value): (&String, &Value)| match value {
        Value::Bool(yes) => of_word(key).map(|(topic, accepts)| (topic, accepts == *yes)),
        Value::String(word) if !word.contains(char::is_whitespace) => of_word(word),
        _ => None,
    };
    let mut found = value.as_object()?.iter().filter_map(of_entry);
    let (topic, accepts) = found.next()?;
    found.all(|(_, other)| other == accepts).then_some((topic, accepts))
}

/// Returns the topic of a word, and whether it accepts.
fn of_word(word: &str) -> Option<(&'static VerdictTopic, bool)> {
    let word = word.to_lowercase();
    // `not-approved` says the opposite; leave it open.
    if ["not", "un", "no-", "no_"].iter().any(|no| word.starts_with(no)) && !word.starts_with("unfinished") {
        return None;
    }
    let joined: String = word.chars().filter(|symbol| symbol.is_alphanumeric()).collect();
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or(&word);
    let last = last.strip_prefix("is").unwrap_or(last);
    let begins = |stems: &[&str]| stems.iter().any(|stem| last.starts_with(stem) || joined.starts_with(stem));
    let topics: [(&[&str], &[&str], &'static VerdictTopic); 2] =
        [(&ACCEPTS, &REJECTS, &REVIEW), (&DONE, &NOT_DONE, &TASK)];
    topics.into_iter().find_map(|(accepts, rejects, topic)| match (begins(accepts), begins(rejects)) {
        (true, false) => Some((topic, true)),
        (false, true) => Some((topic, false)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statements_in_the_first_person_contradict_a_value() {
        for (text, value) in [
            ("I do not approve.", json!({"approved": true})),
            ("Thanks! I can’t approve this change", json!({"is_approved": true})),
            ("It is broken, so I reject it.", json!({"verdict": "approve"})),
            ("I approve this.", json!({"verdict": "rejected"})),
            ("**I reject**", json!({"decision": "accept", "score": 3})),
            ("No.", json!({"approved": true})),
            ("Not yet, the tests fail.", json!({"approved": true})),
            ("I read it. This is not approved.", json!({"approved": true})),
            ("The change is rejected, no tests.", json!({"approved": true})),
            ("No — do not merge.", json!({"verdict": "approve"})),
            ("LGTM", json!({"approved": false})),
            ("## ❌ Rejected", json!({"approved": true})),
            ("Status: BLOCKED", json!({"approved": true})),
            ("## Verdict: Request changes", json!({"approved": true})),
            ("Ship it.", json!({"approved": false})),
            ("My verdict is no; see below.", json!({"approved": true})),
        ] {
            assert!(contradiction(text, &value, &KeyChoices::new()).is_some(), "{text}");
        }
        assert_eq!(
            contradiction("Hm.\n\n> So?\n\nI do not approve.", &json!({"approved": true}), &KeyChoices::new()),
            Some(ContraryLine { line: 4, sentence: "I do not approve.".to_owned() })
        );
    }

    #[test]
    fn other_texts_contradict_nothing() {
        for (text, value) in [
            ("I do not approve.", json!({"approved": false})),
            ("He wrote \"I do not approve\".", json!({"approved": true})),
            ("> I do not approve.", json!({"approved": true})),
            ("I rejected the first idea.", json!({"approved": true})),
            ("It works. I do not recommend more tests.", json!({"approved": true})),
            ("Does it leak? No.", json!({"approved": true})),
            ("No tests are missing.", json!({"approved": true})),
            ("It is approved by two people.", json!({"approved": false})),
            ("approved: true", json!({"approved": false})),
            ("Rejected ideas: none", json!({"approved": true})),
            ("This is refused input.", json!({"approved": true})),
            ("I do not approve.", json!({"done": true})),
            ("I do not approve.", json!({"approved": true, "state": "rejected"})),
            ("I do not approve.", json!("approved")),
        ] {
            assert_eq!(contradiction(text, &value, &KeyChoices::new()), None, "{text}");
        }
    }
}
