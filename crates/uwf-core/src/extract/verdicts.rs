//! Compares a value with what the text around it says in the first person.
//!
//! `I do not approve` beside `approved: true` means that the value is talked about, or that the agent made a mistake. Either way a person
//! or a model has to look again.

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

/// What follows the word if it is about the work under review.
const OBJECTS: [&str; 5] = ["it", "this", "these", "the", "as"];

/// Returns the words of the text that contradict the value; `None` if there are none. Quotations and code don't count.
pub(super) fn contradiction(text: &str, value: &Value) -> Option<String> {
    let is_accepted = acceptance(value)?;
    let plain = without_quotations(text).replace('’', "'");
    let lower = plain.to_lowercase();
    sentences(&lower).find_map(|sentence| {
        let (words, accepts) = statement(sentence)?;
        (accepts != is_accepted).then(|| {
            let at = lower.find(words).unwrap_or_default();
            plain.get(at..at + words.len()).unwrap_or(words).to_owned()
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

/// Splits a text into sentences and the clauses behind `so` and `but`.
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
        ] {
            assert!(contradiction(text, &value).is_some(), "{text}");
        }
        assert_eq!(
            contradiction("Hm. I do not approve.", &json!({"approved": true})).as_deref(),
            Some("I do not approve")
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
            ("I do not approve.", json!({"done": true})),
            ("I do not approve.", json!({"approved": true, "state": "rejected"})),
            ("I do not approve.", json!("approved")),
        ] {
            assert_eq!(contradiction(text, &value), None, "{text}");
        }
    }
}
