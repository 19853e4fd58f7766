//! Finds text in an answer that repeats the prompt.
//!
//! A program that prints its prompt has not answered, although the prompt may contain values that fit the schema, such as the answer of
//! an earlier role.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

/// Consecutive words that must match to count as an echo.
const RUN: usize = 8;

/// Non-blank lines that an echo must contain besides a block. Without them the block counts, because a role may repeat the exact answer of
/// an earlier role.
const BESIDE: usize = 2;

/// Returns the ranges of the text that repeat consecutive words of the prompt, in order. Line breaks and blanks don't matter, so an echo
/// may have another layout than the prompt.
pub(super) fn echoes(text: &str, prompt: &str) -> Vec<Range<usize>> {
    let known: Vec<u64> = words(prompt).map(|at| hash(&prompt[at])).collect();
    let run = RUN.min(known.len());
    if run == 0 {
        return Vec::new();
    }
    let windows: HashSet<&[u64]> = known.windows(run).collect();
    let words: Vec<Range<usize>> = words(text).collect();
    let hashes: Vec<u64> = words.iter().map(|at| hash(&text[at.clone()])).collect();
    let mut echoes: Vec<Range<usize>> = Vec::new();
    let mut last_word = 0;
    for (first, window) in hashes.windows(run).enumerate() {
        if !windows.contains(window) {
            continue;
        }
        let (start, end) = (words[first].start, words[first + run - 1].end);
        match echoes.last_mut() {
            Some(last) if first <= last_word + 1 => last.end = end,
            _ => echoes.push(start..end),
        }
        last_word = first + run - 1;
    }
    echoes
}

/// Whether a block lies in an echo that also contains other lines.
pub(super) fn is_echoed(block: &Range<usize>, text: &str, echoes: &[Range<usize>]) -> bool {
    // An echo ends with a word, a block with its line.
    let block_end = text[..block.end.min(text.len())].trim_end().len();
    let around = echoes.iter().find(|echo| echo.start <= block.start && block_end <= echo.end);
    around.is_some_and(|echo| {
        let beside = [&text[echo.start..block.start], &text[block_end.max(block.start)..echo.end]];
        beside.iter().flat_map(|part| part.lines()).filter(|line| !line.trim().is_empty()).count() >= BESIDE
    })
}

/// Returns the ranges of words and of marks. A mark that is repeated counts once.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start();
        let start = text.len() - rest.len();
        let first = rest.chars().next()?;
        let goes_on = |symbol: char| match first.is_alphanumeric() {
            true => symbol.is_alphanumeric(),
            false => symbol == first,
        };
        let length = rest.find(|symbol: char| !goes_on(symbol)).unwrap_or(rest.len());
        at = start + length;
        Some(start..at)
    })
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "# Task\nReview it.\n\n---\nok: true\nwhy: fine\n---\n\nAnswer in this form.\n";

    #[test]
    fn a_prompt_that_comes_back_is_an_echo() {
        let text = format!("log\n{PROMPT}");
        let echoes = echoes(&text, PROMPT);
        assert_eq!(echoes.first(), Some(&(4..text.trim_end().len())));
        let block = text.find("---").unwrap()..text.rfind("---\n").unwrap() + 4;
        assert!(is_echoed(&block, &text, &echoes));
    }

    #[test]
    fn the_layout_of_an_echo_does_not_matter() {
        let text = PROMPT.replace('\n', "\n\n").replace(": ", ":\n  ").replace("Review it.", "Review\nit.");
        let echoes = echoes(&text, PROMPT);
        assert_eq!(echoes, vec![0..text.trim_end().len()]);
    }

    #[test]
    fn identical_answer_alone_is_not_echo() {
        let text = "---\nok: true\nwhy: fine\n---\nI looked again.\n";
        let echoes = echoes(text, PROMPT);
        assert_eq!(echoes.len(), 1);
        assert!(!is_echoed(&(0..27), text, &echoes));
    }

    #[test]
    fn other_texts_are_none() {
        for (text, prompt) in [("a\nb\nc\nd\ne", PROMPT), ("a", ""), ("", PROMPT)] {
            assert!(echoes(text, prompt).is_empty(), "{text}");
        }
    }
}
