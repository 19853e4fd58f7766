//! Shared state of the readers of a workflow file's parts.

use std::collections::HashMap;

use yaml_tree::MappingEntry;

use crate::document::{ProblemCollector, SourcePositions};

/// The problems and positions found so far.
pub(super) struct WorkflowReader {
    pub(super) problems: ProblemCollector,
    pub(super) positions: SourcePositions,
    pub(super) inlined: InlineConditions,
}

impl WorkflowReader {
    pub(super) fn locate(&mut self, pointer: &str, entry: &MappingEntry) {
        self.positions.set_key(pointer.to_owned(), entry.key_at);
        self.positions.set_value(pointer.to_owned(), entry.value.at);
    }
}

/// Conditions made of expressions written into transitions.
#[derive(Default)]
pub(super) struct InlineConditions {
    /// Expression → name of its condition.
    pub(super) names: HashMap<String, String>,
    /// Stem of a generated name → last number given to it.
    pub(super) numbers: HashMap<String, usize>,
}
