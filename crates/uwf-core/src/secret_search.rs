//! Finds secrets in texts, as a reader may come to see them.
//!
//! A secret is looked for in several views of a text, because what is stored is read, cleaned and decoded later. Symbols that are
//! not seen, and escape sequences of terminals, are left out (`view`); escapes of JSON and of URLs are decoded. Base64 and
//! hexadecimal forms of a secret are patterns of their own (`forms`), which may also be wrapped into lines. A view knows
//! the place of each of its bytes in the text, so what is found is a range of the text itself.

mod forms;
mod view;

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use self::view::{End, View};

/// Bytes of the shortest value that is searched for: a shorter one would turn up by chance all over an answer.
pub const SHORTEST: usize = 8;

/// How often a text is searched. Where a secret is replaced, the text around it is read in another way.
const MOST_ROUNDS: usize = 4;

/// Symbols of an encoded form after which its rest is waited for in the next line. With fewer, the end of each line would be.
const LEAST_WRAPPED: usize = 8;

/// Looks for the values of some secrets.
#[derive(Debug, Default)]
pub struct SecretSearch {
    plain: Patterns,
    /// Patterns of base64 and hexadecimal forms, which may be wrapped into lines.
    encoded: Patterns,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Which of the values, in the order they were given in; of several that overlap, the longest.
    pub value: usize,
}

impl SecretSearch {
    /// Knows these values. Each should have [`SHORTEST`] bytes.
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> SecretSearch {
        let mut search = SecretSearch::default();
        for (number, value) in values.into_iter().enumerate() {
            forms::plain(value).into_iter().for_each(|form| search.plain.add(form, number));
            forms::encoded(value).into_iter().for_each(|form| search.encoded.add(form, number));
        }
        search
    }

    /// The secrets in a text, from its beginning to its end. They do not overlap.
    pub fn found(&self, text: &[u8]) -> Vec<FoundSecret> {
        self.searched(text, End::Over, |_, _| ())
    }

    /// The same; `look` is shown each view that is searched, and the same without white space.
    fn searched(&self, text: &[u8], end: End, mut look: impl FnMut(&View<'_>, &View<'_>)) -> Vec<FoundSecret> {
        let mut all = Vec::new();
        let mut found = Vec::new();
        if self.plain.texts.is_empty() {
            return found;
        }
        for _ in 0..MOST_ROUNDS {
            let known = all.len();
            let ranges = found.iter().map(|found: &FoundSecret| found.range.clone());
            view::of(View::masked(text, ranges), end, |view| {
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

    /// How much of a text that grows can be shown: the rest could be part of a secret, or of an escape that decides how the text
    /// before it is read.
    pub fn settled(&self, text: &[u8]) -> usize {
        let mut settled = text.len();
        let found = self.searched(text, End::Grows, |view, wrapped| {
            let begun = [
                self.plain.begun(view, 1),
                self.encoded.begun(view, 1),
                self.encoded.begun(wrapped, LEAST_WRAPPED),
                view.open_from(),
            ];
            settled = begun.into_iter().flatten().fold(settled, usize::min);
        });
        while settled < text.len() {
            // Neither a secret, which may end as another one begins, nor an escape must be cut in two.
            let secret = found.iter().find(|secret| secret.range.contains(&settled));
            let mut whole = secret.map_or(settled, |secret| secret.range.start);
            view::of(View::masked(text, []), End::Grows, |view| whole = view.before_gap(whole));
            if whole == settled {
                break;
            }
            settled = whole;
        }
        settled
    }
}

/// Matches as they are to be replaced: those that overlap are one.
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
struct Patterns {
    texts: Vec<String>,
    /// Index of the secret for each pattern.
    values: Vec<usize>,
    automaton: OnceLock<Option<AhoCorasick>>,
}

impl Patterns {
    fn add(&mut self, text: String, value: usize) {
        self.texts.push(text);
        self.values.push(value);
    }

    fn automaton(&self) -> Option<&AhoCorasick> {
        // The kind that is made quickest: most processes search a few short texts.
        let build = || {
            let kind = Some(AhoCorasickKind::NoncontiguousNFA);
            AhoCorasick::builder().kind(kind).match_kind(MatchKind::Standard).build(&self.texts).ok()
        };
        self.automaton.get_or_init(build).as_ref()
    }

    fn found(&self, view: &View<'_>) -> Vec<(Range<usize>, usize, usize)> {
        let bytes = view.bytes();
        let Some(automaton) = self.automaton() else {
            // It is too large to be built.
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
    fn begun(&self, view: &View<'_>, least: usize) -> Option<usize> {
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
