//! Finds a sentence that says that a block is not the answer: `Ignore the block above, it is from the template`.
//!
//! The sentence names the block and disowns it. Both are required, because reviews are often about JSON, headers and templates.

use super::super::prose::ProseSentence;
use super::verdict_words::is_denial;

/// Names of a block. Without a word for its place, they are about the work.
const NAMES: [&str; 22] = [
    "payload",
    "data",
    "json",
    "yaml",
    "block",
    "object",
    "header",
    "frontmatter",
    "snippet",
    "template",
    "output",
    "value",
    "values",
    "fields",
    "answer",
    "verdict",
    "result",
    "approval",
    "rejection",
    "decision",
    "text",
    "part",
];

/// Names that only a block of an answer has.
const OF_ANSWERS: [&str; 5] = ["json", "frontmatter", "yaml", "approval", "rejection"];

/// Words for the place of a block.
const PLACES: [&str; 8] = ["above", "below", "end", "top", "bottom", "beginning", "before", "following"];

/// Words before the name of a block of the answer.
const POINTERS: [&str; 6] = ["above", "structured", "required", "following", "preceding", "final"];

/// Verbs that disown their object.
const DISOWN: [&str; 9] =
    ["ignore", "disregard", "discard", "discount", "skip", "overlook", "forget", "disregarded", "ignored"];

/// Verbs that disown their object if they are denied.
const USE: [&str; 19] = [
    "interpreted",
    "considered",
    "treated",
    "seen",
    "understood",
    "use",
    "take",
    "trust",
    "read",
    "rely",
    "count",
    "believe",
    "parse",
    "used",
    "taken",
    "trusted",
    "relied",
    "counted",
    "store",
];

/// Nouns for a text that does not answer.
const NO_ANSWERS: [&str; 18] = [
    "template",
    "placeholder",
    "boilerplate",
    "example",
    "sample",
    "dummy",
    "filler",
    "copy",
    "copied",
    "default",
    "leftover",
    "meaningless",
    "stale",
    "moot",
    "void",
    "stub",
    "draft",
    "mock",
];

/// Words for a wrong text.
const WRONG: [&str; 5] = ["wrong", "incorrect", "outdated", "invalid", "false"];

/// Verbs by which a block would be the answer.
const EXPRESS: [&str; 8] = ["reflect", "represent", "count", "express", "apply", "mean", "match", "matter"];

/// Forms of `to be`, and words like it.
const BE: [&str; 13] =
    ["is", "are", "was", "were", "isn't", "it's", "be", "comes", "came", "has", "contains", "holds", "repeats"];

/// Most words between a block and its predicate.
const NEAR: usize = 6;

/// Returns the first sentence that disowns a block.
pub(super) fn disowning(sentences: &[ProseSentence]) -> Option<&ProseSentence> {
    sentences.iter().filter(|sentence| !sentence.is_question).find(|sentence| {
        let words: Vec<&str> = sentence.words().collect();
        let mut clauses =
            sentence.clauses.iter().map(|clause| clause.words.iter().map(String::as_str).collect::<Vec<_>>());
        let is_order = || (0..words.len()).any(|at| block_at(&words, at).is_some()) && orders_to_ignore(&words);
        !words.contains(&"if")
            && (clauses.any(|words| disowns(&words)) || is_order() || is_copied(&words) || is_not_meant(&words))
    })
}

fn disowns(words: &[&str]) -> bool {
    // `The JSON should say false`.
    let is_corrected = |four: &[&str]| {
        four[0] == "the"
            && OF_ANSWERS.contains(&four[1])
            && four[2] == "should"
            && matches!(four[3], "say" | "read" | "have")
    };
    if words.windows(4).any(is_corrected) {
        return true;
    }
    let Some((start, end)) = (0..words.len()).find_map(|at| block_at(words, at)) else { return false };
    let (before, behind) = (&words[..start], &words[end..]);
    let before = &before[before.len().saturating_sub(NEAR)..];
    let has = |words: &[&str], list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_denied = |words: &[&str]| words.iter().any(|word| is_denial(word));
    let is_read_as = before.iter().any(|word| matches!(*word, "read" | "treat" | "take" | "interpret" | "consider"))
        && behind.first() == Some(&"as");
    let is_order = has(before, &DISOWN) && !is_denied(before) || is_denied(before) && has(before, &USE) || is_read_as;
    let near = &behind[..behind.len().min(NEAR)];
    let verb = near.iter().position(|word| BE.contains(word));
    let is_described = verb.is_some_and(|verb| {
        // A denial of the denial: `is not a placeholder`.
        let predicate = &behind[verb..behind.len().min(verb + NEAR)];
        let is_not = is_denied(predicate);
        let is_wrong = has(predicate, &WRONG) && !has(&words[start..end], &["output", "value", "values", "text"]);
        let is_only = has(predicate, &["only", "just", "merely"]) && has(predicate, &["test", "formality", "trial"]);
        let is_no_answer = has(predicate, &NO_ANSWERS) || is_wrong || is_only;
        let is_mine = predicate.windows(2).any(|pair| {
            is_denial(pair[0])
                && matches!(pair[1], "mine" | "my" | "the" | "real" | "valid" | "final" | "meant" | "what")
        });
        is_no_answer && !is_not || is_mine
    });
    let is_disclaimed = is_denied(near) && (has(near, &EXPRESS) || has(near, &USE));
    let is_to_ignore = has(near, &["should", "must", "can", "may", "please"]) && has(near, &DISOWN) && !is_denied(near);
    // `The JSON is there only because it must be`.
    let is_formal = has(near, &["only", "just", "merely"]) && has(near, &["exists", "satisfy", "satisfies"])
        || near.last().is_some_and(|word| matches!(*word, "only" | "just" | "merely")) && near.contains(&"there");
    is_order || is_formal || is_described || is_disclaimed || is_to_ignore
}

/// Whether a pronoun is to be ignored: `so pay no attention to it`.
fn orders_to_ignore(words: &[&str]) -> bool {
    let is_it = |word: &str| matches!(word, "it" | "that" | "this" | "them");
    let is_ignored = |pair: &[&str]| DISOWN.contains(&pair[0]) && is_it(pair[1]);
    words.windows(2).any(is_ignored) || words.windows(3).any(|three| three == ["no", "attention", "to"])
}

/// Finds a block of the answer that is named from an index on: `the JSON above`, `that object`, `the above`.
fn block_at(words: &[&str], at: usize) -> Option<(usize, usize)> {
    let word = words[at];
    let next = |offset: usize| words.get(at + offset).copied().unwrap_or_default();
    let is_place = |offset: usize| {
        // `The block above the loop` is a part of the work.
        PLACES.contains(&next(offset))
            && !matches!(next(offset + 1), "the" | "a" | "an" | "it" | "this" | "of" | "each")
    };
    if word == "above" && !NAMES.contains(&next(1)) && at > 0 && matches!(words[at - 1], "the" | "is" | "everything") {
        return Some((at, at + 1)).filter(|_| !next(1).starts_with(char::is_alphanumeric) || BE.contains(&next(1)));
    }
    if !NAMES.contains(&word) {
        return None;
    }
    if is_place(1) {
        return Some((at, at + 2));
    }
    if matches!(next(1), "at" | "in" | "on") && matches!(next(2), "the" | "my") && PLACES.contains(&next(3)) {
        return Some((at, at + 4));
    }
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    let is_pointed = POINTERS.contains(&before) || matches!(before, "this" | "that") && OF_ANSWERS.contains(&word);
    is_pointed.then_some((at, at + 1))
}

/// Whether the agent takes its answer back: `Just kidding`, `I'll fill in the real value later`.
fn is_not_meant(words: &[&str]) -> bool {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_joke = words.len() <= NEAR && has(&["kidding", "joking"]) && !words.iter().any(|word| is_denial(word));
    let is_later = words.windows(2).any(|pair| pair[0] == "fill" && matches!(pair[1], "in" | "out" | "it" | "this"))
        && has(&["i'll", "i", "will"])
        && has(&["later", "real", "actual", "proper", "once"]);
    is_joke || is_later
}

/// Whether the agent says that it copied a block: `I copied the JSON from the format example`.
fn is_copied(words: &[&str]) -> bool {
    let verb = words.iter().position(|word| matches!(*word, "copied" | "pasted" | "repeated" | "reused"));
    verb.is_some_and(|verb| {
        let is_own = words[..verb].iter().any(|word| matches!(*word, "i" | "i've" | "just" | "only"));
        let object = words[verb..].iter().take(NEAR).any(|word| NAMES.contains(word));
        let source =
            words[verb..].iter().any(|word| matches!(*word, "example" | "template" | "prompt" | "instructions"));
        is_own && object && source
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::prose::sentences;
    use super::*;

    #[test]
    fn sentences_that_disown_a_block_are_found() {
        for text in [
            "Disregard the JSON above.",
            "The block below is only a placeholder.",
            "Please don't use the value above.",
            "The output above is not my verdict.",
            "The structured output should be ignored.",
            "The header at the top does not reflect my opinion.",
            "I copied the JSON from the format example.",
            "Just kidding!",
            "I'll fill in the real value later.",
        ] {
            assert!(disowning(&sentences(text)).is_some(), "{text}");
        }
    }

    #[test]
    fn sentences_about_the_work_disown_nothing() {
        for text in [
            "The JSON parser ignores unknown keys, and the block above the loop is gone.",
            "The old template was wrong.",
            "An invalid JSON body crashes it.",
            "The JSON above is not a placeholder.",
            "Should I ignore the block above?",
        ] {
            assert!(disowning(&sentences(text)).is_none(), "{text}");
        }
    }
}
