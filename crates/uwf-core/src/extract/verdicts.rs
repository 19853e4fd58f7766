//! Compares a value with what the text around it says about the work.
//!
//! If `I do not approve` or `This is rejected` appears beside `approved: true`, either the value is only mentioned or the agent made a
//! mistake. In both cases a person or a model must look again.

use serde_json::Value;

/// Stems of words that accept.
const ACCEPTS: [&str; 5] = ["approv", "accept", "endors", "merg", "recommend"];

/// Stems of words that reject.
const REJECTS: [&str; 5] = ["reject", "declin", "refus", "veto", "disapprov"];

/// Beginnings of a sentence that says no.
const NOT: [&str; 14] = [
    "i do not",
    "i don't",
    "i can not",
    "i cannot",
    "i can't",
    "i could not",
    "i couldn't",
    "i will not",
    "i won't",
    "i would not",
    "i wouldn't",
    "i am not able to",
    "i'm not able to",
    "i am unable to",
];

/// Beginnings of a sentence that says what the agent does.
const DO: [&str; 8] = ["i", "i do", "i must", "i have to", "i hereby", "i therefore", "i am going to", "i'm going to"];

/// Sentences that say yes or no, at the start of a text.
const REPLIES: [(&str, bool); 6] =
    [("no", false), ("nope", false), ("not yet", false), ("no way", false), ("yes", true), ("yes please", true)];

/// Sentences and beginnings of sentences that give a verdict.
const VERDICTS: [(&str, bool); 24] = [
    ("not approved", false),
    ("approval denied", false),
    ("do not merge", false),
    ("don't merge", false),
    ("rejected", false),
    ("reject", false),
    ("request changes", false),
    ("request_changes", false),
    ("changes requested", false),
    ("needs work", false),
    ("blocked", false),
    ("approve", true),
    ("ship it", true),
    ("ready to merge", true),
    ("this is ready to merge", true),
    ("declined", false),
    ("denied", false),
    ("my verdict is no", false),
    ("my answer is no", false),
    ("approved", true),
    ("accepted", true),
    ("lgtm", true),
    ("my verdict is yes", true),
    ("my answer is yes", true),
];

/// Words before a verdict.
const LABELS: [&str; 7] = ["verdict", "decision", "status", "result", "recommendation", "conclusion", "outcome"];

/// The work under review, as a subject.
const SUBJECTS: [&str; 10] = [
    "this",
    "it",
    "the change",
    "this change",
    "the pr",
    "this pr",
    "the pull request",
    "the patch",
    "the plan",
    "the diff",
];

/// Words between such a subject and `approved`, and whether they deny.
const COPULAS: [(&str, bool); 8] = [
    ("is not", true),
    ("isn't", true),
    ("cannot be", true),
    ("can't be", true),
    ("must not be", true),
    ("should not be", true),
    ("is", false),
    ("is hereby", false),
];

/// First words after a verdict that is about the work under review.
const OBJECTS: [&str; 5] = ["it", "this", "these", "the", "as"];

/// Words that contradict a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Line number, from 0.
    pub(super) line: usize,
    pub(super) words: String,
}

/// Returns the statement of the text that contradicts the value; `None` if there is none. Quotations and code don't count.
pub(super) fn contradiction(text: &str, value: &Value) -> Option<Statement> {
    let is_accepted = acceptance(value)?;
    let plain = without_quotations(text).replace('’', "'");
    let lower = plain.to_lowercase();
    let first = lower.trim_start().split(['.', '!', '\n', ',', '—']).next().unwrap_or_default().trim();
    let reply = REPLIES.into_iter().find(|(words, _)| *words == first);
    let statements = sentences(&lower).filter_map(|sentence| statement(sentence).or_else(|| verdict(sentence)));
    reply.into_iter().chain(statements).find_map(|(words, accepts)| {
        (accepts != is_accepted).then(|| {
            let at = lower.find(words).unwrap_or_default();
            let words = plain.get(at..at + words.len()).unwrap_or(words).to_owned();
            Statement { line: lower[..at].matches('\n').count(), words }
        })
    })
}

/// Whether a value accepts or rejects; `None` if it does neither, or both.
fn acceptance(value: &Value) -> Option<bool> {
    let mut found = value.as_object()?.iter().filter_map(|(key, value)| match value {
        Value::Bool(yes) => stance(key).map(|accepts| accepts == *yes),
        Value::String(word) if !word.contains(char::is_whitespace) => stance(word),
        _ => None,
    });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Whether a word accepts or rejects.
fn stance(word: &str) -> Option<bool> {
    let word = word.to_lowercase();
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or(&word);
    let last = last.strip_prefix("is").unwrap_or(last);
    let begins = |stems: &[&str]| stems.iter().any(|stem| last.starts_with(stem));
    // `not-approved` says the opposite; leave it open.
    let is_negated = ["not", "un", "no"].iter().any(|no| word.starts_with(no));
    match (begins(&ACCEPTS), begins(&REJECTS)) {
        _ if is_negated => None,
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Returns a statement that begins a sentence, and whether it accepts.
fn statement(sentence: &str) -> Option<(&str, bool)> {
    let sentence = sentence.trim_start_matches(['*', '_', '#', ' ', '-']);
    let behind = |begin: &str| {
        let rest = sentence.strip_prefix(begin)?.strip_prefix(' ')?;
        let verb = rest.split([' ', ',', ';', ':']).next().unwrap_or_default();
        let accepts = stance(verb).filter(|_| !verb.ends_with("ed"))?;
        let follows = rest[verb.len()..].trim_start();
        let object = follows.split([' ', ',', ';']).next().unwrap_or_default();
        let is_whole = object.is_empty() || !rest[verb.len()..].starts_with(' ') || OBJECTS.contains(&object);
        let end = sentence.len() - rest.len() + verb.len();
        is_whole.then_some((&sentence[..end], accepts))
    };
    let denied = NOT.iter().find_map(|begin| behind(begin)).map(|(words, accepts)| (words, !accepts));
    denied.or_else(|| DO.iter().find_map(|begin| behind(begin)))
}

/// Returns a verdict about the work that is a sentence or begins one, and whether it accepts.
fn verdict(sentence: &str) -> Option<(&str, bool)> {
    let is_mark = |symbol: char| !symbol.is_alphanumeric();
    let sentence = sentence.trim_start_matches(is_mark).trim_end_matches(['*', '_', ' ']);
    let label = LABELS.into_iter().find_map(|label| sentence.strip_prefix(label)?.strip_prefix(':'));
    let sentence = label.map_or(sentence, |rest| rest.trim_start_matches(is_mark));
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with([',', ';', '—', '(']) || rest.starts_with(" as ");
    // `approved: true` is a key and its value.
    let is_clause = |words: &str, rest: &str| is_end(rest) || words.contains(' ') && rest.starts_with(':');
    let known =
        VERDICTS.into_iter().find(|(words, _)| sentence.strip_prefix(words).is_some_and(|rest| is_clause(words, rest)));
    if let Some((words, accepts)) = known {
        return Some((&sentence[..words.len()], accepts));
    }
    SUBJECTS.into_iter().find_map(|subject| {
        let rest = sentence.strip_prefix(subject)?.strip_prefix(' ')?;
        COPULAS.into_iter().find_map(|(copula, denies)| {
            let verb = rest.strip_prefix(copula)?.strip_prefix(' ')?;
            let word = verb.split([' ', ',', ';', ':', '(']).next().unwrap_or_default();
            let accepts = stance(word).filter(|_| word.ends_with("ed") && is_end(&verb[word.len()..]))?;
            let end = sentence.len() - verb.len() + word.len();
            Some((&sentence[..end], accepts != denies))
        })
    })
}

/// Splits a text into sentences and the clauses after `so` and `but`.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', '!', '?', '\n', ';']).flat_map(|sentence| sentence.split(", ")).map(|clause| {
        let clause = clause.trim();
        ["so ", "but ", "and ", "thus ", "therefore "]
            .iter()
            .find_map(|word| clause.strip_prefix(word))
            .unwrap_or(clause)
    })
}

/// Returns the text without quotations and code.
fn without_quotations(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_code = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        if is_code || fence || line.trim_start().starts_with('>') {
            plain.push('\n');
            continue;
        }
        let mut closing = None;
        for symbol in line.chars() {
            match (closing, symbol) {
                (Some(end), symbol) if symbol == end => closing = None,
                (Some(_), _) => {}
                (None, '"' | '`') => closing = Some(symbol),
                (None, '“') => closing = Some('”'),
                (None, symbol) => plain.push(symbol),
            }
        }
        plain.push('\n');
    }
    plain
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
            assert!(contradiction(text, &value).is_some(), "{text}");
        }
        assert_eq!(
            contradiction("Hm.\n\n> So?\n\nI do not approve.", &json!({"approved": true})),
            Some(Statement { line: 4, words: "I do not approve".to_owned() })
        );
    }

    #[test]
    fn other_texts_contradict_nothing() {
        for (text, value) in [
            ("I do not approve.", json!({"approved": false})),
            ("He wrote \"I do not approve\".", json!({"approved": true})),
            ("> I do not approve.", json!({"approved": true})),
            ("I rejected the first idea.", json!({"approved": true})),
            ("I do not recommend more tests.", json!({"approved": true})),
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
            assert_eq!(contradiction(text, &value), None, "{text}");
        }
    }
}
