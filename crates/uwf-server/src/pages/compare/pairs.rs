//! Steps of two runs that belong together.

use crate::pages::parts;

/// Two steps that stand beside each other, by their positions; one that only one run has has no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) a: Option<usize>,
    pub(super) b: Option<usize>,
}

pub(super) fn same_words(count: usize) -> String {
    format!("{} with the same {}", parts::many(count, "step"), if count == 1 { "output" } else { "outputs" })
}
