//! Places of a draft's parts in their file.

use std::collections::{BTreeSet, HashMap};

use json_cas::pointer::join;
use yaml_tree::{TextPosition, YamlContent, YamlNode};

/// Places of a draft's parts, by JSON pointer into the draft's form (so `/roles/planner/goal` even when the
/// file says `systemPrompt`).
#[derive(Clone, Debug, Default)]
pub struct SourcePositions {
    file: String,
    values: HashMap<String, TextPosition>,
    keys: HashMap<String, TextPosition>,
    broken: BTreeSet<String>,
}

impl SourcePositions {
    /// No places: every problem is reported at the beginning of the file.
    #[must_use]
    pub fn none(file: &str) -> SourcePositions {
        SourcePositions { file: file.to_owned(), ..SourcePositions::default() }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn set_value(&mut self, pointer: String, at: TextPosition) {
        self.values.insert(pointer, at);
    }

    pub(crate) fn set_key(&mut self, pointer: String, at: TextPosition) {
        self.keys.insert(pointer, at);
    }

    /// Records a whole tree below `pointer`.
    pub(crate) fn set_tree(&mut self, pointer: &str, node: &YamlNode) {
        self.set_value(pointer.to_owned(), node.at);
        match &node.data {
            YamlContent::Scalar { .. } => {}
            YamlContent::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.set_tree(&join(pointer, &index.to_string()), item);
                }
            }
            YamlContent::Mapping(entries) => {
                for entry in entries {
                    let below = join(pointer, &entry.key);
                    self.set_key(below.clone(), entry.key_at);
                    self.set_tree(&below, &entry.value);
                }
            }
        }
    }

    /// Marks the part as unreadable, so that its further problems are not reported.
    pub(crate) fn set_broken(&mut self, pointer: &str) {
        self.broken.insert(pointer.to_owned());
    }

    pub(crate) fn is_broken(&self, pointer: &str) -> bool {
        self.broken.contains(pointer)
    }

    /// Position of the value, or of the nearest part around it that has one.
    pub(crate) fn value(&self, pointer: &str) -> TextPosition {
        around(pointer).find_map(|pointer| self.values.get(pointer)).copied().unwrap_or(TextPosition::FIRST)
    }

    /// Position of the part's key, otherwise of the part.
    pub(crate) fn key(&self, pointer: &str) -> TextPosition {
        self.keys.get(pointer).copied().unwrap_or_else(|| self.value(pointer))
    }
}

/// The pointer itself and all pointers around it, innermost first.
fn around(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |pointer| pointer.rfind('/').map(|end| &pointer[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize) -> TextPosition {
        TextPosition { line, column: 1 }
    }

    #[test]
    fn missing_position_falls_back_to_surrounding_part() {
        let mut positions = SourcePositions::none("f");
        positions.set_value("/roles".to_owned(), at(3));
        positions.set_key("/roles/a~1b".to_owned(), at(4));
        assert_eq!(positions.value(&join("/roles", "a/b")), at(3));
        assert_eq!(positions.key(&join("/roles", "a/b")), at(4));
        assert_eq!(positions.key("/graph"), TextPosition::FIRST);
    }
}
