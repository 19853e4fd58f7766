//! The form of each key and value in a text.

use yaml_tree::{Data, Entry, Node, Style};

use crate::document;

/// A text and its tree. The text was parsed before: its depth is limited, and no key occurs twice.
pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    /// The file's value; `None` for a file without one.
    pub(super) root: Option<Node>,
}

/// Form of a value.
#[derive(Clone, Copy)]
pub(super) enum Form<'n> {
    /// No text: null.
    Nothing,
    Scalar(Style),
    Alias,
    /// Items on separate lines.
    List,
    /// Items in brackets.
    FlowList,
    /// Keys on separate lines.
    Block(&'n [Entry]),
    /// Keys in braces.
    Flow(&'n [Entry]),
}

impl<'n> Form<'n> {
    pub(super) fn of(node: &'n Node) -> Form<'n> {
        match &node.data {
            _ if node.is_nothing() => Form::Nothing,
            _ if node.alias => Form::Alias,
            Data::Scalar { style, .. } => Form::Scalar(*style),
            Data::Sequence(_) if node.flow => Form::FlowList,
            Data::Sequence(_) => Form::List,
            Data::Mapping(entries) if node.flow => Form::Flow(entries),
            Data::Mapping(entries) => Form::Block(entries),
        }
    }

    pub(super) fn entries(self) -> &'n [Entry] {
        match self {
            Form::Block(entries) | Form::Flow(entries) => entries,
            Form::Nothing | Form::Scalar(_) | Form::Alias | Form::List | Form::FlowList => &[],
        }
    }
}

impl<'t> Tree<'t> {
    /// Parses a text that was parsed successfully before.
    pub(super) fn read(text: &'t str, origin: &str) -> Tree<'t> {
        let root = document::as_written(text, origin).ok().flatten();
        Tree { text, root: root.filter(|root| !root.is_nothing()) }
    }

    /// The entries along a path, as far as it exists.
    pub(super) fn along(&self, parts: &[String]) -> Vec<&Entry> {
        let mut found: Vec<&Entry> = Vec::new();
        for part in parts {
            let Some(node) = found.last().map(|entry| &entry.value).or(self.root.as_ref()) else { break };
            let Some(entry) = Form::of(node).entries().iter().find(|entry| entry.key == *part) else { break };
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
pub(super) fn after_colon(entry: &Entry, text: &str) -> Option<usize> {
    let rest = &text[entry.key_span.end..];
    let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[gap..].starts_with(':').then_some(entry.key_span.end + gap + 1)
}
