//! Decides from the words around a block whether it is the answer or only mentioned.
//!
//! The word lists are English. In other languages a block on lines of its own counts.

use super::lines::names_answer;

/// Words in the sentence that introduces another block than the answer: `The endpoint returns:`.
const OF_ANOTHER: &[&str] = &[
    "should",
    "must",
    "would",
    "could",
    "return",
    "returns",
    "returned",
    "returning",
    "respond",
    "responds",
    "responded",
    "responding",
    "expect",
    "expects",
    "expected",
    "expecting",
    "get",
    "gets",
    "got",
    "getting",
    "send",
    "sends",
    "sent",
    "sending",
    "receive",
    "receives",
    "received",
    "print",
    "prints",
    "printed",
    "logs",
    "logged",
    "emit",
    "emits",
    "emitted",
    "yield",
    "yields",
    "said",
    "says",
    "replied",
    "replies",
    "reads",
    "shows",
    "showed",
    "answered",
    "contains",
    "example",
    "examples",
    "e.g",
    "instance",
    "fixture",
    "sample",
    "template",
    "currently",
    "instead",
    "payload",
    "previously",
    "earlier",
    "before",
];

/// Words that begin a sentence about a case that has not happened.
const CONDITIONS: [&str; 8] = ["if", "once", "when", "unless", "until", "suppose", "assuming", "provided"];

/// Labels of something other than the answer.
const LABELS: [&str; 18] = [
    "actual",
    "body",
    "config",
    "data",
    "diff",
    "incorrect",
    "input",
    "like",
    "log",
    "logs",
    "mock",
    "payload",
    "request",
    "settings",
    "stderr",
    "stdout",
    "stub",
    "wrong",
];

/// Words that mark a draft.
const OF_A_DRAFT: [&str; 6] = ["draft", "drafts", "initially", "first", "old", "original"];

/// Beginnings of a line that retracts the block above it, or announces the real answer.
const TAKES_BACK: [&str; 19] = [
    "final:",
    "final answer",
    "final verdict",
    "final decision",
    "final value",
    "my final",
    "correction:",
    "corrected:",
    "corrected answer",
    "revised:",
    "revised answer",
    "actually,",
    "wait,",
    "wait -",
    "wait —",
    "on second thought",
    "after a second look",
    "scratch that",
    "never mind",
];

/// Symbols of a line that are compared with [`TAKES_BACK`].
const LONGEST: usize = 64;

/// Whether the text above a block introduces something other than the answer. `above` is the paragraph that ends right above the block.
pub(super) fn leads_elsewhere(above: &str) -> bool {
    let above = above.trim_end().trim_end_matches(['*', '_', ' ']);
    let is_open =
        above.ends_with(':') || above.ends_with("e.g.") || !above.ends_with(['.', '!', '?', '`', '~', '-', '}', '>']);
    let sentence = above.rsplit(['.', '!', '?', ';', '\n']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    // A full stop within `e.g.` does not end a sentence.
    let sentence = if above.contains("e.g.") { above } else { sentence };
    let words: Vec<String> = words(sentence).collect();
    let is_of = |words: &[String], list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let last = &words[words.len().saturating_sub(3)..];
    let lower = sentence.trim().to_lowercase();
    let begins_with_answer = |begin: &str| {
        let word = lower.strip_prefix(begin).and_then(|rest| rest.split([' ', ':']).next());
        word.is_some_and(names_answer) && !lower.contains(" of ") && !lower.contains(" from ")
    };
    let is_announced = ["here is", "here's", "here are", "my "].iter().any(|begin| lower.contains(begin))
        && last.last().is_some_and(|word| names_answer(word))
        && !is_of(last, OF_ANOTHER)
        && !is_of(last, &OF_A_DRAFT)
        || ["my ", "here is my ", "here is the ", "here's the "].into_iter().any(begins_with_answer)
        || lower.ends_with(", so:")
        || is_proposal(&words);
    let has_mark = above.ends_with([':', '.']) || lower.ends_with(" like");
    let is_label = has_mark && words.len() <= 2 && words.last().is_some_and(|word| LABELS.contains(&word.as_str()));
    let is_condition = words.first().is_some_and(|word| CONDITIONS.contains(&word.as_str()));
    let is_of_another = is_of(&words, OF_ANOTHER) || is_of(&words, &OF_A_DRAFT) || is_condition || is_label;
    is_open && is_of_another && (!is_announced || is_condition)
}

/// Whether a sentence proposes something: `my plan would be`, `the fix could be`. A program's reply is not proposed: `the response could be`.
fn is_proposal(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["my", .., subject, "would" | "could", "be"] => !OF_A_DRAFT.contains(&subject),
        ["the" | "a", subject, "could", "be"] => !names_answer(subject) && !OF_ANOTHER.contains(&subject),
        ["this", "would" | "could", "be", "my", _] => true,
        _ => false,
    }
}

/// Whether a line retracts the blocks above it or announces another answer.
pub(super) fn takes_back(line: &str) -> bool {
    let line = line.trim_start_matches(['*', '_', '#', ' ', '\t']);
    let begin: String = line.chars().take(LONGEST).collect::<String>().to_lowercase();
    let is_word = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    TAKES_BACK.iter().any(|known| begin.strip_prefix(known).is_some_and(is_word))
        || begin.split_once(", ").is_some_and(|(_, rest)| rest.starts_with("my final "))
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let is_mark = |symbol: char| !symbol.is_alphanumeric();
    text.split_whitespace().map(move |word| word.trim_matches(is_mark).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_about_others_lead_elsewhere() {
        for above in [
            "No. A valid user should get:",
            "The API returns",
            "**Example:**",
            "You can use any form, e.g.:",
            "My first draft:",
            "The bot said:",
            "Once the bug is fixed:",
            "Here is the expected output of the API:",
            "Request body:",
            "Something like",
            "Use any form, e.g.",
            "The log shows:",
            "My first draft would be:",
            "The response could be:",
            "The example could be:",
        ] {
            assert!(leads_elsewhere(above), "{above}");
        }
        for above in [
            "",
            "Verdict:",
            "Here is my review:",
            "It should work.",
            "The server returns an error. My verdict:",
            "**Final answer:**",
            "My review would be:",
            "My plan could be:",
            "The fix could be",
            "This would be my plan:",
            "The output must be JSON, so:",
            "Here is the output you should store:",
            "Based on the expected behaviour, here is the final result:",
        ] {
            assert!(!leads_elsewhere(above), "{above}");
        }
    }

    #[test]
    fn later_words_take_a_block_back() {
        for below in ["Final: no", "**Correction:** it fails", "Wait, no.", "Now, my final verdict is:", "Actually, no"]
        {
            assert!(takes_back(below), "{below}");
        }
        for below in [
            "",
            "Actually nice work!",
            "Correction of typos can wait.",
            "Wait for CI.",
            "Update: CI is green.",
            "Note: fine.",
            "Waiting for CI is not needed.",
            "The final build passed.",
        ] {
            assert!(!takes_back(below), "{below}");
        }
    }
}
