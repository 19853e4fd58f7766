//! Inserts a value into a text.

use std::ops::Range;

use serde_json::{Map, Value};
use yaml_tree::{MappingEntry, YamlNode, YamlScalarStyle};

use super::path::KeyPath;
use super::tree::{EditTree, ValueForm, after_colon};
use super::write::{ConfigLanguage, inline, instead_of, scalar};
use super::{EditError, entangled};

/// Default indentation.
const DEFAULT_STEP: usize = 2;

/// The text with `value` at `path`. The rest is not checked.
pub(super) fn set(tree: &EditTree<'_>, path: &KeyPath, value: &Value) -> Result<String, EditError> {
    let parts = path.parts();
    let found = tree.along(parts);
    let (there, missing) = parts.split_at(found.len());
    // Leave out the value that is replaced or gets a key.
    let around = if missing.is_empty() { &found[..found.len().saturating_sub(1)] } else { &found[..] };
    let in_flow = around
        .iter()
        .map(|entry| &entry.value)
        .chain(&tree.root)
        .any(|node| matches!(ValueForm::from_node(node), ValueForm::Flow(_)));
    let language = if tree.is_json() { ConfigLanguage::Json } else { ConfigLanguage::Yaml };
    let place = EditPlace { tree, language, in_flow };
    let parent = found.last().map(|entry| &entry.value).or(tree.root.as_ref());
    let edited = match (parent.map(|node| (node, ValueForm::from_node(node))), found.last()) {
        (_, Some(entry)) if missing.is_empty() => place.replace(entry, value),
        (None, _) => Some(place.append(&place.lines(missing, value, 0))),
        (Some((_, ValueForm::Block(entries))), _) => entries.last().map(|last| place.after(last, missing, value)),
        (Some((node, ValueForm::Flow(entries))), _) => Some(place.in_braces(node, entries, missing, value)),
        (Some((node, _)), Some(entry)) if place.is_null(node) => place.first_key(entry, missing, value),
        (Some((node, _)), _) => return Err(not_a_mapping(node, there)),
    };
    edited.ok_or_else(|| entangled(tree, path))
}

fn not_a_mapping(node: &YamlNode, at: &[String]) -> EditError {
    let found = match ValueForm::from_node(node) {
        ValueForm::List | ValueForm::FlowList => "a list",
        ValueForm::Alias => "an alias",
        ValueForm::Nothing | ValueForm::Scalar(_) | ValueForm::Block(_) | ValueForm::Flow(_) => "a text or number",
    };
    let at = if at.is_empty() { "the file".to_owned() } else { KeyPath::from_keys(at).to_string() };
    EditError::NotAMapping { at, line: node.at.line, found }
}

/// Where to write a value.
struct EditPlace<'p> {
    tree: &'p EditTree<'p>,
    language: ConfigLanguage,
    /// Inside braces or brackets, where line breaks have no meaning.
    in_flow: bool,
}

impl EditPlace<'_> {
    fn text(&self) -> &str {
        self.tree.text
    }

    /// Replaces a value.
    fn replace(&self, entry: &MappingEntry, value: &Value) -> Option<String> {
        let Range { start, end } = entry.value.span.clone();
        let new = inline(value, self.language);
        match ValueForm::from_node(&entry.value) {
            ValueForm::Nothing => Some(match after_colon(entry, self.text()) {
                Some(at) => self.spliced(at, at, &format!(" {new}")),
                None => self.spliced(entry.key_span.end, entry.key_span.end, &format!(": {new}")),
            }),
            ValueForm::Scalar(YamlScalarStyle::Block) | ValueForm::List | ValueForm::Block(_) => {
                self.replace_lines(entry, &new)
            }
            ValueForm::Scalar(style) => Some(self.spliced(start, end, &instead_of(style, value, self.language))),
            ValueForm::FlowList | ValueForm::Flow(_) | ValueForm::Alias => Some(self.spliced(start, end, &new)),
        }
    }

    /// Replaces a value on several lines by one line. Comments between the key and the first of those lines stay.
    fn replace_lines(&self, entry: &MappingEntry, new: &str) -> Option<String> {
        let text = self.text();
        let from = after_colon(entry, text)?;
        let Range { start, end } = entry.value.span.clone();
        let first_line = text[from..start].rfind('\n').map_or(from, |newline| from + newline);
        let kept = match ValueForm::from_node(&entry.value) {
            // After the colon comes `|` or `>`, possibly followed by a comment.
            ValueForm::Scalar(_) => text[from..first_line].find(" #").map_or("", |at| &text[from + at..first_line]),
            _ => &text[from..first_line],
        };
        let end = if text[from..end].ends_with('\n') { before_newline(text, end) } else { line_end(text, end) };
        Some(self.spliced(from, end, &format!(" {new}{}", kept.trim_end())))
    }

    /// Adds a key after the last one of a block mapping.
    fn after(&self, last: &MappingEntry, missing: &[String], value: &Value) -> String {
        let at = next_line(self.text(), last.end());
        let lines = self.lines(missing, value, last.key_at.column - 1);
        let newline = if at > 0 && !self.text()[..at].ends_with('\n') { self.newline() } else { "" };
        self.spliced(at, at, &format!("{newline}{lines}"))
    }

    /// Adds a key to a mapping in braces.
    fn in_braces(&self, parent: &YamlNode, entries: &[MappingEntry], missing: &[String], value: &Value) -> String {
        let pair = self.pair(missing, value);
        let text = self.text();
        let Some(last) = entries.last() else {
            let open = text[parent.span.clone()].rfind('{').map_or(parent.span.start, |at| parent.span.start + at);
            return self.spliced(open, parent.span.end, &format!("{{ {pair} }}"));
        };
        let at = last.end();
        let first_on_line =
            text[..last.key_span.start].rfind('\n').map(|newline| &text[newline + 1..last.key_span.start]);
        let rest = text[at..line_end(text, at)].trim();
        match first_on_line {
            // One key per line: write the new one the same way.
            Some(indent) if indent.trim().is_empty() && rest.is_empty() => {
                self.spliced(at, at, &format!(",{}{indent}{pair}", self.newline()))
            }
            _ => self.spliced(at, at, &format!(", {pair}")),
        }
    }

    /// Adds the first key below a key whose value is null.
    fn first_key(&self, entry: &MappingEntry, missing: &[String], value: &Value) -> Option<String> {
        let Range { start, end } = entry.value.span.clone();
        let text = self.text();
        let written = matches!(ValueForm::from_node(&entry.value), ValueForm::Scalar(_));
        if self.in_flow {
            let pair = format!("{{ {} }}", self.pair(missing, value));
            return Some(match (written, after_colon(entry, text)) {
                (true, _) => self.spliced(start, end, &pair),
                (false, Some(at)) => self.spliced(at, at, &format!(" {pair}")),
                (false, None) => self.spliced(entry.key_span.end, entry.key_span.end, &format!(": {pair}")),
            });
        }
        let from = after_colon(entry, text)?;
        let rest_from = if written { end } else { from };
        let rest_to = line_end(text, rest_from);
        let lines = self.lines(missing, value, entry.key_at.column - 1 + self.step());
        let lines = lines.trim_end();
        Some(self.spliced(from, rest_to, &format!("{}{}{lines}", &text[rest_from..rest_to], self.newline())))
    }

    fn is_null(&self, node: &YamlNode) -> bool {
        match ValueForm::from_node(node) {
            ValueForm::Nothing => true,
            ValueForm::Scalar(YamlScalarStyle::Plain) => {
                matches!(&self.text()[node.span.clone()], "~" | "null" | "Null" | "NULL")
            }
            ValueForm::Scalar(_)
            | ValueForm::Alias
            | ValueForm::List
            | ValueForm::FlowList
            | ValueForm::Block(_)
            | ValueForm::Flow(_) => false,
        }
    }

    /// Keys on separate lines, with the value after the last.
    fn lines(&self, keys: &[String], value: &Value, column: usize) -> String {
        let step = self.step();
        let mut lines = String::new();
        for (depth, key) in keys.iter().enumerate() {
            lines.push_str(&" ".repeat(column + depth * step));
            lines.push_str(&scalar(key, self.language));
            lines.push(':');
            if depth + 1 == keys.len() {
                lines.push(' ');
                lines.push_str(&inline(value, self.language));
            }
            lines.push_str(self.newline());
        }
        lines
    }

    /// `key: value`, with further keys in braces.
    fn pair(&self, keys: &[String], value: &Value) -> String {
        let Some((first, rest)) = keys.split_first() else { return inline(value, self.language) };
        let below =
            rest.iter().rev().fold(value.clone(), |below, key| Value::Object(Map::from_iter([(key.clone(), below)])));
        format!("{}: {}", scalar(first, self.language), inline(&below, self.language))
    }

    /// Indentation step of this file.
    fn step(&self) -> usize {
        let top = self.tree.root.as_ref().map(|root| ValueForm::from_node(root).entries()).unwrap_or_default();
        let nested = top.iter().find_map(|entry| match ValueForm::from_node(&entry.value) {
            ValueForm::Block(below) => {
                below.first().map(|first| first.key_at.column.saturating_sub(entry.key_at.column))
            }
            ValueForm::Nothing
            | ValueForm::Scalar(_)
            | ValueForm::Alias
            | ValueForm::List
            | ValueForm::FlowList
            | ValueForm::Flow(_) => None,
        });
        nested.filter(|step| *step > 0).unwrap_or(DEFAULT_STEP)
    }

    fn newline(&self) -> &'static str {
        if self.text().contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn append(&self, lines: &str) -> String {
        let text = self.text();
        let newline =
            if text.trim_start_matches('\u{feff}').is_empty() || text.ends_with('\n') { "" } else { self.newline() };
        format!("{text}{newline}{lines}")
    }

    fn spliced(&self, from: usize, to: usize, new: &str) -> String {
        spliced(self.text(), from, to, new)
    }
}

/// The text with the bytes from `from` to `to` replaced.
pub(super) fn spliced(text: &str, from: usize, to: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..from], &text[to..])
}

/// End of the line that contains `at`, without its newline.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// Beginning of the line after `at`; `at` itself at the beginning of a line.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// `end` moved before the newline that precedes it.
fn before_newline(text: &str, end: usize) -> usize {
    let end = end - 1;
    if text[..end].ends_with('\r') { end - 1 } else { end }
}
