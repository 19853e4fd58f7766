//! Finds secrets in texts, in every form in which a reader may see them.
//!
//! A secret is searched for in several views of a text, because stored text is later displayed, cleaned and decoded. Views leave out
//! invisible symbols and terminal escape sequences (`view`), or decode escapes of JSON and of URLs. Base64 and hexadecimal forms of a
//! secret are separate patterns (`forms`), which may be wrapped over several lines. A view knows the place of each of its bytes in the
//! text, so each match is a range of the text itself.

mod forms;
mod view;

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use self::view::{TextEnd, TextView};

/// The shortest value that is searched for, in bytes. Shorter values would match by chance all over an answer.
pub const SHORTEST: usize = 8;

/// Most passes over a text. After a secret is replaced, the text around it may decode differently, so it is searched again.
const MOST_ROUNDS: usize = 4;

/// Symbols of an encoded form at the end of a line from which `settled` waits for the next line. With fewer, it would wait at almost every
/// line.
const LEAST_WRAPPED: usize = 8;

/// Searches texts for a set of secrets.
#[derive(Debug, Default)]
pub struct SecretSearch {
    plain: SecretPatterns,
    /// Patterns of base64 and hexadecimal forms, which may be wrapped over several lines.
    encoded: SecretPatterns,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Index of the value, in the order given to `new`. If several values overlap, the longest.
    pub value: usize,
}

impl SecretSearch {
    /// Creates a search for these values. Each should have at least [`SHORTEST`] bytes.
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> SecretSearch {
        let mut search = SecretSearch::default();
        for (number, value) in values.into_iter().enumerate() {
            forms::plain(value).into_iter().for_each(|form| search.plain.add(form, number));
            forms::encoded(value).into_iter().for_each(|form| search.encoded.add(form, number));
        }
        search
    }

    /// Finds the secrets in a text, in order and without overlaps.
    pub fn found(&self, text: &[u8]) -> Vec<FoundSecret> {
        self.searched(text, TextEnd::Over, |_, _| ())
    }

    /// As [`found`](Self::found). `look` gets each view that is searched, and the same view without white space.
    fn searched(
        &self,
        text: &[u8],
        end: TextEnd,
        mut look: impl FnMut(&TextView<'_>, &TextView<'_>),
    ) -> Vec<FoundSecret> {
        let mut all = Vec::new();
        let mut found = Vec::new();
        if self.plain.texts.is_empty() {
            return found;
        }
        for _ in 0..MOST_ROUNDS {
            let known = all.len();
            let ranges = found.iter().map(|found: &FoundSecret| found.range.clone());
            view::for_each_view(TextView::masked(text, ranges), end, |view| {
                let wrapped = view.without_white_space();
                all.extend(self.plain.found(view));
                all.extend(self.encoded.found(&wrapped));
                look(view, &wrapped);
            });
            if all.len() == known {
                break;
            }
            found = merged(&mut all);
        }
        found
    }

    /// Returns how many bytes of a growing text are safe to show. The rest could be part of a secret, or of an escape that changes how the
    /// text before it is read.
    pub fn settled(&self, text: &[u8]) -> usize {
        let mut settled = text.len();
        let found = self.searched(text, TextEnd::Grows, |view, wrapped| {
            let begun = [
                self.plain.begun(view, 1),
                self.encoded.begun(view, 1),
                self.encoded.begun(wrapped, LEAST_WRAPPED),
                view.open_from(),
            ];
            settled = begun.into_iter().flatten().fold(settled, usize::min);
        });
        while settled < text.len() {
            // Don't cut a secret or an escape in two. A secret may end like another one begins.
            let secret = found.iter().find(|secret| secret.range.contains(&settled));
            let mut whole = secret.map_or(settled, |secret| secret.range.start);
            view::for_each_view(TextView::masked(text, []), TextEnd::Grows, |view| whole = view.before_gap(whole));
            if whole == settled {
                break;
            }
            settled = whole;
        }
        settled
    }
}

/// Merges overlapping matches into one.
fn merged(found: &mut [(Range<usize>, usize, usize)]) -> Vec<FoundSecret> {
    found.sort_unstable_by_key(|(range, length, value)| (range.start, std::cmp::Reverse(*length), *value));
    let mut merged: Vec<(FoundSecret, usize)> = Vec::new();
    for (range, length, value) in found.iter().cloned() {
        match merged.last_mut().filter(|(last, _)| range.start < last.range.end) {
            Some((last, longest)) => {
                last.range.end = last.range.end.max(range.end);
                if length > *longest {
                    (last.value, *longest) = (value, length);
                }
            }
            None => merged.push((FoundSecret { range, value }, length)),
        }
    }
    merged.into_iter().map(|(found, _)| found).collect()
}

/// Patterns to search for in a view.
#[derive(Debug, Default)]
struct SecretPatterns {
    texts: Vec<String>,
    /// Index of the secret for each pattern.
    values: Vec<usize>,
    automaton: OnceLock<Option<AhoCorasick>>,
}

impl SecretPatterns {
    fn add(&mut self, text: String, value: usize) {
        self.texts.push(text);
        self.values.push(value);
    }

    fn automaton(&self) -> Option<&AhoCorasick> {
        // Use the automaton that is fastest to build, because most processes search a few short texts.
        let build = || {
            let kind = Some(AhoCorasickKind::NoncontiguousNFA);
            AhoCorasick::builder().kind(kind).match_kind(MatchKind::Standard).build(&self.texts).ok()
        };
        self.automaton.get_or_init(build).as_ref()
    }

    fn found(&self, view: &TextView<'_>) -> Vec<(Range<usize>, usize, usize)> {
        let bytes = view.bytes();
        let Some(automaton) = self.automaton() else {
            // The automaton would be too large.
            let each = self.texts.iter().zip(&self.values).flat_map(|(text, value)| {
                let starts = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text.as_bytes()));
                starts.map(|at| (view.origin(at..at + text.len()), text.len(), *value))
            });
            return each.collect();
        };
        let all = automaton.find_overlapping_iter(bytes);
        all.map(|found| (view.origin(found.range()), found.len(), self.values[found.pattern().as_usize()])).collect()
    }

    /// Returns the offset in the text at which an unfinished pattern of at least `least` bytes may begin.
    fn begun(&self, view: &TextView<'_>, least: usize) -> Option<usize> {
        let bytes = view.bytes();
        let first = |text: &String| {
            let from = bytes.len().saturating_sub(text.len() - 1);
            let to = (bytes.len() + 1).saturating_sub(least);
            (from..to).find(|&at| text.as_bytes().starts_with(&bytes[at..]))
        };
        let at = self.texts.iter().filter_map(first).min()?;
        Some(view.origin(at..at + 1).start)
    }
}
