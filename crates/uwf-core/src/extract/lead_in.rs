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
    "illustration",
    "currently",
    "instead",
    "payload",
    "previously",
    "earlier",
    "before",
    "discarded",
    "dismissed",
    "abandoned",
    "reference",
    "don't",
    "never",
    "ignore",
];

/// People and programs other than the agent. They are the subject of a sentence, or the text below is from them.
pub(super) const OTHERS: [&str; 37] = [
    "document",
    "documents",
    "docs",
    "documentation",
    "guide",
    "policy",
    "spec",
    "specification",
    "mock",
    "stub",
    "fixture",
    "tool",
    "program",
    "command",
    "function",
    "api",
    "author",
    "bot",
    "client",
    "colleague",
    "customer",
    "customers",
    "endpoint",
    "handler",
    "linter",
    "log",
    "logs",
    "maintainer",
    "reporter",
    "reviewer",
    "script",
    "server",
    "service",
    "teammate",
    "user",
    "users",
    "worker",
];

/// Nouns for a proposal or a draft, besides the names of answers.
const PROPOSALS: [&str; 9] = ["plan", "one", "version", "attempt", "idea", "value", "proposal", "draft", "approach"];

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

/// Answers that are rather a program's if a sentence says how they could be.
const OF_PROGRAMS: [&str; 3] = ["response", "reply", "header"];

/// Beginnings of a line that retracts the block above it, or announces the real answer.
const TAKES_BACK: [&str; 26] = [
    "strike that",
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
    "korrektur:",
    "corrección:",
    "correzione:",
    "correção:",
    "更正",
    "訂正",
];

/// Sentences of a line that are read.
const MAX_SENTENCES: usize = 16;

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
        && !names_draft(last)
        || ["my ", "here is my ", "here is the ", "here's the "].into_iter().any(begins_with_answer)
        || lower.ends_with(", so:")
        || is_proposal(&words)
        || is_gerund(&words)
        || is_finding(&words);
    let has_mark = above.ends_with([':', '.']) || lower.ends_with(" like");
    let is_label = has_mark && words.len() <= 2 && words.last().is_some_and(|word| LABELS.contains(&word.as_str()));
    let is_condition = words.first().is_some_and(|word| CONDITIONS.contains(&word.as_str()));
    let is_of_another =
        is_of(&words, OF_ANOTHER) || names_draft(&words) || is_from_others(&words) || is_condition || is_label;
    is_open && is_of_another && (!is_announced || is_condition)
}

/// Whether the words name a draft: `the old one`, but not `the old module`.
fn names_draft(words: &[String]) -> bool {
    let is_named = |word: &String| names_answer(word) || PROPOSALS.contains(&word.as_str());
    let is_draft = |(at, word): (usize, &String)| {
        OF_A_DRAFT.contains(&word.as_str())
            && (at < 2 || word.starts_with("draft") || words.get(at + 1).is_none_or(is_named))
    };
    words.iter().enumerate().any(is_draft)
}

/// Whether someone else speaks or acts: `The reviewer put this:`, `From the log of the worker:`, `An answer looks like this:`.
fn is_from_others(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_other = |word: &str| OTHERS.contains(&word.trim_end_matches("'s"));
    match words[..] {
        ["from", ..] => true,
        ["the" | "a" | "an" | "our" | "your" | "every" | "each" | "any", ref rest @ ..] => {
            rest.len() > 1 && rest[..rest.len().min(2)].iter().any(|word| is_other(word))
                || rest.windows(2).any(|pair| pair == ["looks", "like"])
        }
        _ => false,
    }
}

/// Whether a sentence without a subject says what the agent does: `Returning the JSON now:`.
pub(super) fn is_gerund(words: &[String]) -> bool {
    words.first().is_some_and(|word| word.ends_with("ing")) && words.iter().any(|word| names_answer(word))
}

/// Whether the agent says what it found or would do, and nothing about others: `After running everything I get:`.
pub(super) fn is_finding(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_verb = |word: &&str| matches!(*word, "get" | "got" | "would" | "could");
    let subject = words.iter().position(|word| matches!(*word, "i" | "we"));
    let verb = subject.and_then(|at| words[at..].iter().position(is_verb).map(|offset| at + offset));
    verb.is_some_and(|at| {
        let others = || words[..at].iter().chain(&words[at + 1..]);
        others().all(|word| {
            !OF_ANOTHER.contains(word) && !OTHERS.contains(word) && !matches!(*word, "from" | "have" | "answer")
        })
    })
}

/// Whether a sentence proposes something: `my plan would be`, `the fix could be`, `a plan could look like this`. A program's reply is not
/// proposed: `the response could be`.
pub(super) fn is_proposal(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_own = |subject: &str| {
        !OF_PROGRAMS.contains(&subject) && !OF_ANOTHER.contains(&subject) && !OF_A_DRAFT.contains(&subject)
    };
    match words[..] {
        ["my", .., subject, "would" | "could", "be"] => !OF_A_DRAFT.contains(&subject),
        ["the" | "a", subject, "should" | "would", "be"] => is_own(subject) && names_answer(subject),
        ["the" | "a", subject, "could", "be"] => is_own(subject),
        [
            "my" | "the" | "a" | "one",
            subject,
            ..,
            "could" | "would" | "might",
            "look",
            "like" | "as",
            "this" | "follows",
        ] => is_own(subject) && !OTHERS.contains(&subject),
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
        || line.split_inclusive(['.', '!', '?', ';', ':']).take(MAX_SENTENCES).any(retracts)
}

/// Whether a sentence retracts what was said: `Please ignore the above`, `I take that back`, `that should have been false`.
fn retracts(sentence: &str) -> bool {
    let words: Vec<String> = words(&sentence.replace('’', "'")).filter(|word| !word.is_empty()).take(LONGEST).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_it = |word: &str| matches!(word, "it" | "this" | "that" | "that's");
    let retracting = |at: usize| match words[at..] {
        [
            "retract" | "retracting" | "revise" | "revising" | "withdraw" | "withdrawing" | "revoke" | "rescind",
            object,
            ..,
        ] => is_it(object) || matches!(object, "my" | "the"),
        ["ignore" | "disregard", "the", object, ..] => matches!(object, "above" | "previous" | "first" | "earlier"),
        ["ignore" | "disregard" | "discard" | "drop", object, name, ..] if is_it(object) => {
            names_answer(name) || PROPOSALS.contains(&name)
        }
        ["i", "made", "a" | "an", "error" | "mistake", ..] => true,
        ["ignore" | "disregard" | "discard", object, ..] => object == "my" || is_it(object) && words.len() == at + 2,
        ["take" | "taking", object, "back", ..] => is_it(object),
        ["nehme", "ich", "zurück", ..] => true,
        ["change" | "changing" | "changed" | "switching", object, "to", ..] => is_it(object),
        ["change" | "changing" | "changed", "my", object, ..] => {
            names_answer(object) || matches!(object, "mind" | "vote" | "recommendation")
        }
        ["my", "mistake", ..] | ["i", "was", "wrong", ..] => true,
        _ => false,
    };
    let is_about_it = words.iter().take(3).any(|word| is_it(word));
    let was = |words: &[&str]| {
        matches!(words, ["should" | "must", "have", "been"])
            || matches!(words, ["was", "premature" | "wrong" | "incorrect", ..])
            || matches!(words, ["that's", "wrong" | "incorrect" | "outdated", _])
            || matches!(words, ["was", "a", "mistake"])
    };
    (0..words.len()).any(retracting)
        || is_about_it && words.windows(3).any(was)
        || matches!(words[..], [it, "was", "premature" | "wrong"] if is_it(it))
}

pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
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
            "The previous reviewer put this:",
            "From the log of the worker:",
            "For reference, an answer looks like this:",
            "Don't use this plan:",
            "The old one:",
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
            "The output should be:",
            "A plan for this could look like this:",
            "Returning the JSON now:",
            "After running everything I get:",
            "I would structure the work as follows:",
            "Three files still import the old module:",
            "Based on the expected behaviour, here is the final result:",
        ] {
            assert!(!leads_elsewhere(above), "{above}");
        }
    }

    #[test]
    fn later_words_take_a_block_back() {
        for below in [
            "Final: no",
            "**Correction:** it fails",
            "Wait, no.",
            "Now, my final verdict is:",
            "Actually, no",
            "Please ignore the above.",
            "CI is red. I take that back.",
            "Sorry, that should have been false.",
            "That was premature.",
            "I have to change this to false.",
            "I'm changing my verdict.",
            "更正:x",
        ] {
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
            "Ignore this nit if you like.",
            "The timeout was wrong before.",
            "It should be enough to change the default to 5.",
        ] {
            assert!(!takes_back(below), "{below}");
        }
    }
}
