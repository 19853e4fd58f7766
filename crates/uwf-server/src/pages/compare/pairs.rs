//! Pairs of matching steps in two runs.

use crate::pages::parts;

/// The positions of two matching steps. A step that only one run has is alone in its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepPair {
    pub(super) a: Option<usize>,
    pub(super) b: Option<usize>,
}

pub(super) fn same_words(count: usize) -> String {
    format!("{} with the same {}", parts::many(count, "step"), if count == 1 { "output" } else { "outputs" })
}
