//! What the readers of a workflow file's parts have in common.

use std::collections::HashMap;

use yaml_tree::Entry;

use crate::document::{Positions, Problems};

/// What is being read, and what has been found out on the way.
pub(super) struct WorkflowReader {
    pub(super) problems: Problems,
    pub(super) positions: Positions,
    pub(super) inlined: Inlined,
}

impl WorkflowReader {
    pub(super) fn locate(&mut self, pointer: &str, entry: &Entry) {
        self.positions.set_key(pointer.to_owned(), entry.key_at);
        self.positions.set_value(pointer.to_owned(), entry.value.at);
    }
}

/// Conditions made of expressions written into transitions.
#[derive(Default)]
pub(super) struct Inlined {
    /// Expression → name of its condition.
    pub(super) names: HashMap<String, String>,
    /// Stem of a made-up name → last number given to it.
    pub(super) numbers: HashMap<String, usize>,
}
