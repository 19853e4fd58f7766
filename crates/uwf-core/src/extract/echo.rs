//! Finds text in an answer that repeats the prompt.
//!
//! A program that prints its prompt has not answered, although the prompt may contain values that fit the schema, such as the answer of
//! an earlier role.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

/// Consecutive non-blank lines that must match to count as an echo.
const RUN: usize = 3;

/// Non-blank lines that an echo must contain besides a block. A role may repeat the exact answer of an earlier role.
const BESIDE: usize = 2;

/// Returns the ranges of the text that repeat consecutive lines of the prompt, in order.
pub(super) fn echoes(text: &str, prompt: &str) -> Vec<Range<usize>> {
    let known: Vec<u64> = filled(prompt).map(|(_, line)| hash(line)).collect();
    let run = RUN.min(known.len());
    if run == 0 {
        return Vec::new();
    }
    let windows: HashSet<&[u64]> = known.windows(run).collect();
    let lines: Vec<(Range<usize>, u64)> = filled(text).map(|(at, line)| (at, hash(line))).collect();
    let hashes: Vec<u64> = lines.iter().map(|(_, hash)| *hash).collect();
    let mut echoes: Vec<Range<usize>> = Vec::new();
    for (first, window) in hashes.windows(run).enumerate() {
        if !windows.contains(window) {
            continue;
        }
        let (start, end) = (lines[first].0.start, lines[first + run - 1].0.end);
        match echoes.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => echoes.push(start..end),
        }
    }
    echoes
}

/// Whether a block lies in an echo that also contains other lines.
pub(super) fn is_echoed(block: &Range<usize>, text: &str, echoes: &[Range<usize>]) -> bool {
    let around = echoes.iter().find(|echo| echo.start <= block.start && block.end.min(text.len()) <= echo.end);
    around.is_some_and(|echo| {
        let beside = [&text[echo.start..block.start], &text[block.end.min(echo.end)..echo.end]];
        beside.iter().flat_map(|part| part.lines()).filter(|line| !line.trim().is_empty()).count() >= BESIDE
    })
}

/// Returns the non-blank lines.
fn filled(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        Some((start..at, line.trim())).filter(|(_, line)| !line.is_empty())
    })
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
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
        assert_eq!(echoes.first(), Some(&(4..text.len())));
        let block = text.find("---").unwrap()..text.rfind("---\n").unwrap() + 4;
        assert!(is_echoed(&block, &text, &echoes));
    }

    #[test]
    fn the_same_answer_as_one_in_the_prompt_is_none() {
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
