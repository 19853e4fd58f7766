//! Reads a header that is not YAML line by line, using the keys the schema lists.
//!
//! The text is cut into sections at lines that start with a known key. Each section is parsed as YAML by itself, so that one bad value does
//! not spoil the others. A section that fails is kept as text.

use std::collections::BTreeSet;

use serde_json::Value;

use super::keys::SchemaKeys;
use super::lines::{KeyLine, bullet, dedent, indent};
use super::tree::{RawContent, RawScalarStyle, RawTree};
use super::yaml;
use crate::schema_shape::{SchemaShape, Schemas, shape};

/// Deepest nesting that is read by lines; deeper values are text.
const MAX_LEVELS: usize = 8;

/// Replaces tabs by blanks in the indentation and after `:` and `-`. `None` if the header has no such tabs.
pub(super) fn without_tabs(text: &str) -> Option<String> {
    if !text.contains('\t') {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let body = line.trim_start_matches([' ', '\t']);
        for blank in line[..line.len() - body.len()].chars() {
            out.push_str(if blank == '\t' { "  " } else { " " });
        }
        out.push_str(&body.replacen(":\t", ": ", 1).replacen("-\t", "- ", 1));
    }
    Some(out)
}

/// Reads a header by lines. `None` if it does not start with a known key, comments aside, because lines before the first key would be lost.
pub(super) fn read(text: &str, root: &Value) -> Option<RawTree> {
    let here = shape(root, &[root]);
    let keys = SchemaKeys::of_header(root, &here);
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
    let is_key = |line: KeyLine<'_>| keys.knows(line.key) || is_foreign_key(first, line);
    KeyLine::split_line(first).filter(|line| is_key(*line))?;
    LineReader { root }.map(text, &here, &keys, 0)
}

/// Returns the numbers of the lines that may have a comment which [`read`] leaves out.
pub(super) fn comment_lines(text: &str) -> BTreeSet<usize> {
    let has_comment = |line: &str| line.trim_start().starts_with("# ") || line.contains(" # ");
    text.lines().enumerate().filter(|(_, line)| has_comment(line)).map(|(number, _)| number).collect()
}

/// A key and its lines.
struct HeaderSection<'t> {
    line: KeyLine<'t>,
    /// From the start of the key's line to the next section.
    text: &'t str,
    /// Lines below the key's line.
    below: &'t str,
}

impl HeaderSection<'_> {
    /// Whether its text could mean several values. Then no reading by lines is right.
    fn is_ambiguous(&self, keys: &SchemaKeys<'_>, is_list: bool) -> bool {
        let is_unclear = self.opens_quotation()
            || self.mixes_escapes()
            || self.hides_key(keys)
            || is_list && self.has_tight_bullet();
        is_unclear && yaml::parse(self.text).is_err()
    }

    /// Whether the value begins with a quotation mark whose partner is missing. The next key may be a part of the quotation.
    fn opens_quotation(&self) -> bool {
        let Some(quote) = self.line.value.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
            return false;
        };
        let value = self.text.split_once([':', '=']).map_or("", |(_, value)| value);
        value.replace("\\\"", "").matches(quote).count() % 2 == 1
    }

    /// Whether a quoted value has a backslash that is an escape, and one that is not: `"C:\dir\new"`.
    fn mixes_escapes(&self) -> bool {
        let values = std::iter::once(self.line.value).chain(self.below.lines().filter_map(bullet));
        values.filter(|value| value.starts_with('"')).any(|value| {
            let value = value.replace("\\\\", "");
            let escaped = || value.split('\\').skip(1).filter_map(|rest| rest.chars().next());
            escaped().any(|symbol| !ESCAPES.contains(symbol))
                && escaped().any(|symbol| ESCAPES.contains(symbol) && symbol != '"')
        })
    }

    /// Whether a line below a value begins with another key, but is indented.
    fn hides_key(&self, keys: &SchemaKeys<'_>) -> bool {
        let has_value = !self.line.value.is_empty() && !is_block_mark(self.line.value);
        let is_hidden = |line: &str| {
            KeyLine::split_line(line).is_some_and(|key| key.indent > self.line.indent && keys.has(key.key))
        };
        has_value && self.below.lines().any(is_hidden)
    }

    /// Whether a line may be a list item without the blank behind its dash.
    fn has_tight_bullet(&self) -> bool {
        let is_tight = |rest: &str| !rest.starts_with([' ', '-']) && !rest.is_empty();
        self.below.lines().any(|line| line.trim_start().strip_prefix('-').is_some_and(is_tight))
    }
}

/// Letters and signs behind the backslash of an escape in YAML.
const ESCAPES: &str = "0abtnvfre\"/N_LPxuU";

struct LineReader<'s> {
    root: &'s Value,
}

impl<'s> LineReader<'s> {
    fn map(&self, text: &str, here: &SchemaShape<'s>, keys: &SchemaKeys<'s>, level: usize) -> Option<RawTree> {
        let sections = sections(text, keys);
        let schemas = |section: &HeaderSection<'_>| {
            keys.listed(section.line.key).and_then(|name| self.property(here, name)).unwrap_or_default()
        };
        let is_list = |section: &HeaderSection<'_>| {
            let types = shape(self.root, &schemas(section)).types(self.root);
            types.is_some_and(|types| types.contains("array"))
        };
        if sections.iter().any(|section| section.is_ambiguous(keys, is_list(section))) {
            return None;
        }
        let entry =
            |section: &HeaderSection<'_>| (section.line.key.to_owned(), self.value(section, &schemas(section), level));
        let entries: Vec<(String, RawTree)> = sections.iter().map(entry).collect();
        (!entries.is_empty()).then_some(RawTree::unplaced(RawContent::Map(entries)))
    }

    fn value(&self, section: &HeaderSection<'_>, schemas: &[&'s Value], level: usize) -> RawTree {
        if let Ok(RawTree { content: RawContent::Map(mut entries), .. }) = yaml::parse(section.text)
            && entries.len() == 1
            && let Some((_, value)) = entries.pop()
        {
            return value;
        }
        self.by_lines(section.line.value, section.below, schemas, level)
    }

    /// Reads a value with broken YAML as a list, an object or a text, depending on the schema.
    fn by_lines(&self, first: &str, below: &str, schemas: &[&'s Value], level: usize) -> RawTree {
        let below = without_comments(below);
        if is_block_mark(first) && !below.trim().is_empty() {
            return RawTree::scalar(dedent(&format!("\n{below}")).trim_start_matches('\n'), RawScalarStyle::Quoted);
        }
        let here = shape(self.root, schemas);
        let types = here.types(self.root);
        let wants = |name: &str| types.as_ref().is_some_and(|types| types.contains(name));
        if level < MAX_LEVELS && (first.is_empty() || first.starts_with("# ")) {
            if wants("array")
                && let Some(items) = items(&below)
            {
                let schemas = self.item(&here);
                let items = items.iter().map(|item| self.member(item, &schemas, level + 1)).collect();
                return RawTree::unplaced(RawContent::List(items));
            }
            if wants("object")
                && let Some(object) = self.map(&below, &here, &SchemaKeys::of_shape(self.root, &here), level + 1)
            {
                return object;
            }
        }
        text(first, &below)
    }

    /// One member of a list, its bullet replaced by blanks.
    fn member(&self, item: &str, schemas: &[&'s Value], level: usize) -> RawTree {
        let here = shape(self.root, schemas);
        let types = here.types(self.root);
        let wants = |name: &str| types.as_ref().is_none_or(|types| types.contains(name));
        if !wants("string")
            && wants("object")
            && let Some(object) = self.map(item, &here, &SchemaKeys::of_shape(self.root, &here), level)
        {
            return object;
        }
        yaml::parse(item).unwrap_or_else(|_| text("", item))
    }

    /// Schemas of a key, from the first alternative that has the key.
    fn property(&self, here: &SchemaShape<'s>, key: &str) -> Option<Schemas<'s>> {
        here.property(key).or_else(|| self.branches(here).find_map(|branch| branch.property(key)))
    }

    /// Schemas of a list's members, from the first alternative that has any.
    fn item(&self, here: &SchemaShape<'s>) -> Schemas<'s> {
        let own = here.item(0);
        if !own.is_empty() {
            return own;
        }
        self.branches(here).map(|branch| branch.item(0)).find(|item| !item.is_empty()).unwrap_or_default()
    }

    fn branches(&self, here: &SchemaShape<'s>) -> impl Iterator<Item = SchemaShape<'s>> {
        here.groups.iter().flat_map(|group| group.iter()).map(|branch| shape(self.root, &[branch]))
    }
}

fn sections<'t>(text: &'t str, keys: &SchemaKeys<'_>) -> Vec<HeaderSection<'t>> {
    let mut sections: Vec<HeaderSection<'t>> = Vec::new();
    let mut left_edge = None;
    let mut at = 0;
    for full in text.split_inclusive('\n') {
        let line = full.trim_end_matches('\n');
        let start = at;
        at += full.len();
        let key_line = KeyLine::split_line(line).filter(|key_line| {
            left_edge.is_none_or(|edge| key_line.indent <= edge)
                && (keys.knows(key_line.key) || (left_edge.is_some() && is_foreign_key(line, *key_line)))
        });
        match key_line {
            Some(key_line) => {
                left_edge.get_or_insert(key_line.indent);
                sections.push(HeaderSection { line: key_line, text: &text[start..at], below: &text[at..at] });
            }
            None => {
                if let Some(last) = sections.last_mut() {
                    let from = at - full.len() - last.below.len();
                    last.below = &text[from..at];
                    let from = at - full.len() - last.text.len();
                    last.text = &text[from..at];
                }
            }
        }
    }
    sections
}

/// Whether a line has a key that the schema lacks, as opposed to a line of text such as `Note: …`.
fn is_foreign_key(line: &str, key_line: KeyLine<'_>) -> bool {
    key_line.is_word() && line.as_bytes().get(key_line.indent + key_line.key.len()) == Some(&b':')
}

/// Members of a bullet list, each with its bullet replaced by blanks.
fn items(text: &str) -> Option<Vec<String>> {
    let mut items: Vec<String> = Vec::new();
    let mut edge = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let member = bullet(line).filter(|_| edge.is_none_or(|edge| indent(line) <= edge));
        match (member, items.last_mut()) {
            (Some(member), _) => {
                edge.get_or_insert(indent(line));
                let blanks = line.trim_end().len().saturating_sub(member.trim_end().len());
                items.push(format!("{}{member}\n", " ".repeat(blanks)));
            }
            (None, Some(last)) => {
                last.push_str(line);
                last.push('\n');
            }
            (None, None) => return None,
        }
    }
    (!items.is_empty()).then_some(items)
}

fn is_block_mark(first: &str) -> bool {
    let mark = first.split(" #").next().unwrap_or(first).trim_end();
    matches!(mark.as_bytes().first(), Some(b'|' | b'>'))
        && mark[1..].bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
}

/// Removes lines that contain only a comment at the left edge: they are not part of the value.
fn without_comments(below: &str) -> String {
    below.split_inclusive('\n').filter(|line| !line.starts_with("# ")).collect()
}

/// A text over several lines, without the quotes around it.
fn text(first: &str, below: &str) -> RawTree {
    let below = dedent(&format!("\n{}", below.trim_end()));
    let whole = [first, below.trim_start_matches('\n')].into_iter().filter(|part| !part.is_empty());
    let whole = whole.collect::<Vec<_>>().join("\n");
    let whole = whole.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = whole.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote))
            && !inner.starts_with(quote)
            && !closes_early(inner, quote)
        {
            return RawTree::scalar(inner, RawScalarStyle::Quoted);
        }
    }
    RawTree::scalar(whole, RawScalarStyle::Plain)
}

/// Whether the first quotation mark inside ends a quotation: in `"a" and "b"` the outer ones are not a pair.
fn closes_early(inner: &str, quote: char) -> bool {
    inner
        .split_once(quote)
        .is_some_and(|(before, behind)| !before.ends_with(' ') && behind.starts_with([' ', ',', ';', '.', ':']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::typed::untyped;
    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "title": {"type": "string"}, "files": {"type": "array", "items": {"type": "string"}},
            "ok": {"type": "boolean"}, "meta": {"type": "object", "properties": {"owner": {"type": "string"}}},
            "phases": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "note": {"type": "string"}}}},
        }})
    }

    fn value(text: &str) -> Value {
        read(text, &schema()).map_or(Value::Null, |raw| untyped(&raw))
    }

    #[test]
    fn bad_value_becomes_text_and_spoils_no_other() {
        assert_eq!(
            value("title: fix: the `bug`\nok: true\nfiles:\n  - *.rs\n  - a: b: c\n  - x\n"),
            json!({"title": "fix: the `bug`", "ok": true, "files": ["*.rs", "a: b: c", "x"]})
        );
    }

    #[test]
    fn texts_over_several_lines_need_no_mark() {
        assert_eq!(
            value("title: first line\nsecond: with a colon\nNote: kept as text\n\nlast\nok: yes\n"),
            json!({"title": "first line", "second": "with a colon\nNote: kept as text\n\nlast", "ok": "yes"})
        );
        assert_eq!(value("title: |\n  a: b\n   c\nok: @x"), json!({"title": "a: b\n c\n", "ok": "@x"}));
    }

    #[test]
    fn nested_objects_are_followed() {
        assert_eq!(
            value("meta:\n  owner: @me\nphases:\n  - name: `one`\n    note: [WIP] x\n  - name: two: half\nok = no\n"),
            json!({"meta": {"owner": "@me"}, "phases": [{"name": "`one`", "note": "[WIP] x"}, {"name": "two: half"}], "ok": "no"})
        );
    }

    #[test]
    fn tabs_of_the_indentation_become_blanks() {
        assert_eq!(without_tabs("a:\n\t- b\n \tc:\td\te\n"), Some("a:\n  - b\n   c: d\te\n".to_owned()));
        assert_eq!(without_tabs("a: b"), None);
    }

    #[test]
    fn text_without_known_keys_yields_nothing() {
        assert_eq!(value("Hello: world\n"), Value::Null);
    }
}
