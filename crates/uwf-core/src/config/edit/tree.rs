//! The form of each key and value in a text.

use yaml_tree::{MappingEntry, YamlContent, YamlNode, YamlScalarStyle};

use crate::document;

/// A text and its tree. The text was parsed before: its depth is limited, and no key occurs twice.
pub(super) struct EditTree<'t> {
    pub(super) text: &'t str,
    /// The file's value; `None` for a file without one.
    pub(super) root: Option<YamlNode>,
}

/// Form of a value.
#[derive(Clone, Copy)]
pub(super) enum ValueForm<'n> {
    /// No text: null.
    Nothing,
    Scalar(YamlScalarStyle),
    Alias,
    /// Items on separate lines.
    List,
    /// Items in brackets.
    FlowList,
    /// Keys on separate lines.
    Block(&'n [MappingEntry]),
    /// Keys in braces.
    Flow(&'n [MappingEntry]),
}

impl<'n> ValueForm<'n> {
    pub(super) fn from_node(node: &'n YamlNode) -> ValueForm<'n> {
        match &node.data {
            _ if node.is_nothing() => ValueForm::Nothing,
            _ if node.alias => ValueForm::Alias,
            YamlContent::Scalar { style, .. } => ValueForm::Scalar(*style),
            YamlContent::Sequence(_) if node.flow => ValueForm::FlowList,
            YamlContent::Sequence(_) => ValueForm::List,
            YamlContent::Mapping(entries) if node.flow => ValueForm::Flow(entries),
            YamlContent::Mapping(entries) => ValueForm::Block(entries),
        }
    }

    pub(super) fn entries(self) -> &'n [MappingEntry] {
        match self {
            ValueForm::Block(entries) | ValueForm::Flow(entries) => entries,
            ValueForm::Nothing | ValueForm::Scalar(_) | ValueForm::Alias | ValueForm::List | ValueForm::FlowList => &[],
        }
    }
}

impl<'t> EditTree<'t> {
    /// Parses a text that was parsed successfully before.
    pub(super) fn read(text: &'t str, origin: &str) -> EditTree<'t> {
        let root = document::as_written(text, origin).ok().flatten();
        EditTree { text, root: root.filter(|root| !root.is_nothing()) }
    }

    /// The entries along a path, as far as it exists.
    pub(super) fn along(&self, parts: &[String]) -> Vec<&MappingEntry> {
        let mut found: Vec<&MappingEntry> = Vec::new();
        for part in parts {
            let Some(node) = found.last().map(|entry| &entry.value).or(self.root.as_ref()) else { break };
            let Some(entry) = ValueForm::from_node(node).entries().iter().find(|entry| entry.key == *part) else {
                break;
            };
            found.push(entry);
        }
        found
    }

    /// The line of the last existing part of a path, from 1.
    pub(super) fn nearest_line(&self, parts: &[String]) -> usize {
        self.along(parts).last().map_or(1, |entry| entry.key_at.line)
    }

    /// Whether the file is JSON, so that new values must be JSON as well.
    pub(super) fn is_json(&self) -> bool {
        yaml_tree::parse_json(self.text).is_ok()
    }
}

/// The position after a key's colon; `None` for a key without one (`{a}`), or with a colon on another line.
pub(super) fn after_colon(entry: &MappingEntry, text: &str) -> Option<usize> {
    let rest = &text[entry.key_span.end..];
    let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[gap..].starts_with(':').then_some(entry.key_span.end + gap + 1)
}
