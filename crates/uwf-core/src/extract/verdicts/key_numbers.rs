//! Finds a sentence that gives a key another number than the answer: `Score: 3` beside `score: 8`.

use serde_json::Value;

use super::super::prose::ProseSentence;
use super::super::scalar::normal;
use super::verdict_words::is_earlier;

/// Words before the name of a number that is about the whole work.
const WHOLE: [&str; 8] = ["my", "the", "overall", "final", "total", "a", "of", "is"];

/// Factors between notations of one number: `8/10`, `80 %` and `0.8`.
const SCALES: [f64; 5] = [1.0, 10.0, 100.0, 0.1, 0.01];

/// Returns the sentence that gives a key of the value another number. If a second one gives the same number as the value, the first is about
/// a part.
pub(super) fn contrary<'s>(sentences: &'s [ProseSentence], value: &Value) -> Option<&'s ProseSentence> {
    value.as_object()?.iter().find_map(|(key, said)| {
        let said = said.as_f64()?;
        let key = normal(key);
        // `At the start 4 tests failed. Now all pass.`
        let is_past =
            |at: usize| sentences[at + 1..].iter().any(|later| later.has(&["now", "pass", "passes", "fixed"]));
        let given: Vec<(&ProseSentence, f64)> = (sentences.iter().enumerate())
            .filter_map(|(at, sentence)| {
                let number = labelled(sentence, &key).or_else(|| failed(sentence, &key).filter(|_| !is_past(at)))?;
                Some((sentence, number))
            })
            .collect();
        let is_said = |number: f64| SCALES.iter().any(|scale| (number - said * scale).abs() < 1e-9);
        let (contrary, _) = given.first()?;
        (!given.iter().any(|(_, number)| is_said(*number))).then_some(*contrary)
    })
}

/// The number that a sentence gives a key with a label, a verb or a rating: `Overall score: 3/10`, `The final count is 17`, `I give it 3 out of 10`.
fn labelled(sentence: &ProseSentence, key: &str) -> Option<f64> {
    if is_of_another_time(sentence) {
        return None;
    }
    let labelled = sentence.clauses.windows(2).find_map(|pair| {
        let begin = pair[0].words.iter().take_while(|word| WHOLE.contains(&word.as_str())).count();
        let is_key = pair[0].is_label && normal(&pair[0].words[begin..].join("")) == key;
        let word = pair[1].words.first().filter(|_| is_key)?;
        word.split('/').next()?.parse().ok()
    });
    let said = || sentence.clauses.iter().find_map(|clause| predicate(&clause.words, key));
    let rated =
        || sentence.clauses.iter().filter(|clause| !clause.is_label).find_map(|clause| rated(&clause.words, key));
    labelled.or_else(said).or_else(rated)
}

/// The number of failures in the words of a test runner: `57 tests passed, 4 failed`. A number before any other word often is one of a
/// part or of an earlier time: `I added 3 tests`, `2 findings are severe`, `I fixed 3 errors`.
fn failed(sentence: &ProseSentence, key: &str) -> Option<f64> {
    if key != "failed" || is_of_another_time(sentence) {
        return None;
    }
    sentence.clauses.iter().filter(|clause| !clause.is_label).find_map(|clause| counted(&clause.words))
}

fn is_of_another_time(sentence: &ProseSentence) -> bool {
    sentence.is_question || is_earlier(sentence) || sentence.has(&["before", "first", "start"])
}

/// The number that a key is: `the final count is 17`.
fn predicate(words: &[String], key: &str) -> Option<f64> {
    let verb = words.iter().position(|word| word == "is" || word == "was")?;
    let begin = words[..verb].iter().take_while(|word| WHOLE.contains(&word.as_str())).count();
    let is_key = normal(&words[begin..verb].join("")) == key;
    words.get(verb + 1).filter(|_| is_key)?.split('/').next()?.parse().ok()
}

/// The number before `failed` or `failing`, or before the noun between them: `4 failed`, `3 of 40 tests failed`.
fn counted(words: &[String]) -> Option<f64> {
    let at = words.iter().position(|word| word == "failed" || word == "failing")?;
    let is_number = |at: &usize| words[*at].bytes().all(|byte| byte.is_ascii_digit());
    let number = (at.saturating_sub(2)..at).rev().find(is_number)?;
    let is_of = number.checked_sub(2).filter(|_| words[number - 1] == "of").filter(is_number);
    words[is_of.unwrap_or(number)].parse().ok()
}

/// The number of a rating.
fn rated(words: &[String], key: &str) -> Option<f64> {
    let is_rating = matches!(key, "score" | "rating" | "grade" | "points");
    let verb = words.iter().position(|word| matches!(word.as_str(), "give" | "rate" | "deserves" | "scores"))?;
    let of = words
        .iter()
        .position(|word| word == "of")
        .filter(|at| is_rating && *at > verb + 1 && words[at - 1] == "out")?;
    words[of - 2].parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn other_numbers_of_a_key_are_found() {
        let value = json!({"score": 8, "filesChanged": 2, "failed": 0});
        let is_contrary = |text: &str| contrary(&sentences(text), &value).is_some();
        for text in [
            "Score: 3",
            "**Overall score:** 3/10.",
            "Files changed: 5",
            "57 tests passed, 4 failed",
            "3 of 40 tests failed",
            "It ended with 4 failing tests",
            "The final score is 3",
            "I give it 3 out of 10.",
        ] {
            assert!(is_contrary(text), "{text}");
        }
        for text in [
            "Score: 8/10",
            "Score: 80 %",
            "Style score: 3",
            "Score: 3\n\nScore: 8",
            "Score: high",
            "Score: 3?",
            "0 of 40 tests failed",
            "At the start 4 tests failed. Now all pass.",
            "4 tests failed. I fixed the parser. All pass.",
            "I looked at 12 filesChanged",
        ] {
            assert!(!is_contrary(text), "{text}");
        }
    }
}
