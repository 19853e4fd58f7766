//! How each key and value of a text is written.

use yaml_tree::{Data, Entry, Node, Style};

use crate::document;

/// A text and its tree. The text has been found readable before: not too deep, no key twice.
pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    /// What the file says; `None` when it says nothing.
    pub(super) root: Option<Node>,
}

/// How a value is written.
#[derive(Clone, Copy)]
pub(super) enum Form<'n> {
    /// Not at all: null.
    Nothing,
    Scalar(Style),
    Alias,
    /// Items on lines of their own.
    List,
    /// Items in brackets.
    FlowList,
    /// Keys on lines of their own.
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
    /// Reads a text whose values have been read before.
    pub(super) fn read(text: &'t str, origin: &str) -> Tree<'t> {
        let root = document::as_written(text, origin).ok().flatten();
        Tree { text, root: root.filter(|root| !root.is_nothing()) }
    }

    /// The entries of the nodes a path leads through, as far as there are any.
    pub(super) fn along(&self, parts: &[String]) -> Vec<&Entry> {
        let mut found: Vec<&Entry> = Vec::new();
        for part in parts {
            let Some(node) = found.last().map(|entry| &entry.value).or(self.root.as_ref()) else { break };
            let Some(entry) = Form::of(node).entries().iter().find(|entry| entry.key == *part) else { break };
            found.push(entry);
        }
        found
    }

    /// The line of the last part of a path that is there, from 1.
    pub(super) fn nearest_line(&self, parts: &[String]) -> usize {
        self.along(parts).last().map_or(1, |entry| entry.key_at.line)
    }

    /// Whether values stand in braces as JSON has them, so that what is added must be JSON too.
    pub(super) fn is_json(&self) -> bool {
        yaml_tree::parse_json(self.text).is_ok()
    }
}

/// After the colon of a key; `None` for one without (`{a}`), or with one that has a line of its own.
pub(super) fn after_colon(entry: &Entry, text: &str) -> Option<usize> {
    let rest = &text[entry.key_span.end..];
    let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[gap..].starts_with(':').then_some(entry.key_span.end + gap + 1)
}
