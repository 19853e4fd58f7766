//! Parses one YAML block as a tree of raw scalars.
//!
//! Tags, anchors and aliases are rejected: in an answer, `!important`, `&co` and `*.rs` are text. The line reader keeps them as text.

use std::rc::Rc;

use yaml_tree::{YamlContent, YamlNode};

use super::tree::{RawContent, RawScalar, RawScalarStyle, RawSource, RawTree};

/// Parses a block. The error says what is wrong and in which line of the block (from 1).
pub(super) fn parse(text: &str) -> Result<RawTree, String> {
    let root = yaml_tree::parse(text).map_err(|error| in_line(&error.message, error.at.line))?;
    let root = root.ok_or("the header is empty")?;
    BlockReader { text, shared: text.into() }.value(root, ParentCollection::Nothing)
}

fn in_line(problem: &str, line: usize) -> String {
    format!("{problem} in line {line} of the header")
}

/// The collection that contains a value.
#[derive(Clone, Copy)]
enum ParentCollection {
    Nothing,
    /// Brackets or braces.
    Flow,
    /// A list on lines of its own.
    List,
    /// A mapping on lines of its own, after a key that ends at this byte.
    Mapping(usize),
}

struct BlockReader<'t> {
    text: &'t str,
    /// The same text, shared by all places.
    shared: Rc<str>,
}

impl BlockReader<'_> {
    fn value(&self, node: YamlNode, within: ParentCollection) -> Result<RawTree, String> {
        if node.anchored || node.alias || node.tag.is_some() {
            return Err(in_line("an anchor, alias or tag", node.at.line));
        }
        let inside = |within: ParentCollection| if node.flow { ParentCollection::Flow } else { within };
        let content = match node.data {
            YamlContent::Scalar { text, style: yaml_tree::YamlScalarStyle::Plain } => {
                let uncut = self.uncut(&text, node.span.start, node.span.end, within);
                RawContent::Scalar(RawScalar { text, style: RawScalarStyle::Plain, uncut })
            }
            YamlContent::Scalar { text, .. } => {
                RawContent::Scalar(RawScalar { text, style: RawScalarStyle::Quoted, uncut: None })
            }
            YamlContent::Sequence(items) => RawContent::List(
                items
                    .into_iter()
                    .map(|item| self.value(item, inside(ParentCollection::List)))
                    .collect::<Result<_, _>>()?,
            ),
            YamlContent::Mapping(entries) => {
                let entry = |entry: yaml_tree::MappingEntry| {
                    let value = self.value(entry.value, inside(ParentCollection::Mapping(entry.key_span.end)))?;
                    Ok::<_, String>((entry.key, value))
                };
                RawContent::Map(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
            }
        };
        Ok(RawTree::new(content, RawSource { text: Rc::clone(&self.shared), range: node.span }))
    }

    /// The whole text of a bare scalar that YAML ended at ` #`.
    fn uncut(&self, text: &str, start: usize, end: usize, within: ParentCollection) -> Option<String> {
        if matches!(within, ParentCollection::Flow) {
            return None;
        }
        if !text.is_empty() {
            let rest = first_line(&self.text[end..]);
            return rest.trim_start().starts_with('#').then(|| format!("{text}{}", rest.trim_end()));
        }
        // The value is only a comment: `title: #42` or `- #42`. With a blank after the `#` it is meant as a comment.
        let whole = match within {
            ParentCollection::Mapping(key_end) => first_line(&self.text[key_end..]).trim_start().strip_prefix(':')?,
            ParentCollection::List => {
                let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
                self.text[line..start].trim_start().strip_prefix('-')?
            }
            ParentCollection::Nothing | ParentCollection::Flow => return None,
        };
        let whole = whole.trim();
        (whole.starts_with('#') && !whole[1..].starts_with([' ', '\t', '#']) && whole.len() > 1)
            .then(|| whole.to_owned())
    }
}

/// The text up to the end of its first line.
fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws the tree in one line: bare scalars unquoted, others in quotes, uncut texts after `|`.
    fn draw(raw: &RawTree) -> String {
        match &raw.content {
            RawContent::Scalar(RawScalar { text, style, uncut }) => {
                let text = if *style == RawScalarStyle::Plain { text.clone() } else { format!("{text:?}") };
                uncut.as_ref().map_or(text.clone(), |uncut| format!("{text}|{uncut}"))
            }
            RawContent::List(items) => format!("[{}]", items.iter().map(draw).collect::<Vec<_>>().join(", ")),
            RawContent::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}: {}", draw(value))).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    fn read(text: &str) -> Result<String, String> {
        parse(text).map(|raw| draw(&raw))
    }

    #[test]
    fn scalars_keep_their_text_and_style() {
        let text = "a: 1234567890123\nb: '1.10'\nc: no\nd: |\n  two\n  lines\ne: [x, \"y\"]\nf:\n";
        assert_eq!(
            read(text),
            Ok("{a: 1234567890123, b: \"1.10\", c: no, d: \"two\\nlines\\n\", e: [x, \"y\"], f: }".to_owned())
        );
    }

    #[test]
    fn text_that_looks_like_comments_is_kept_separately() {
        assert_eq!(read("é: Fix #42 now # x"), Ok("{é: Fix|Fix #42 now # x}".to_owned()));
        assert_eq!(read("a: #42 fix\nb: # note\nc: 'q' # note"), Ok("{a: |#42 fix, b: , c: \"q\"}".to_owned()));
        assert_eq!(read("a:\n  - #42 fix\n  - Fix #1\n  - b"), Ok("{a: [|#42 fix, Fix|Fix #1, b]}".to_owned()));
        assert_eq!(read("# whole line\na: b"), Ok("{a: b}".to_owned()));
    }

    #[test]
    fn yaml_that_needs_repair_is_rejected() {
        assert_eq!(
            read("a: 1\nb: *.rs").unwrap_err(),
            "while parsing node, found unknown anchor in line 2 of the header"
        );
        assert_eq!(read("a: !x y").unwrap_err(), "an anchor, alias or tag in line 1 of the header");
        assert_eq!(read("a: &x y").unwrap_err(), "an anchor, alias or tag in line 1 of the header");
        assert_eq!(read("").unwrap_err(), "the header is empty");
        assert_eq!(read("a: 1\n---\nb: 2").unwrap_err(), "a second document starts here in line 2 of the header");
        assert_eq!(read(&"- ".repeat(200)).unwrap_err(), "nested deeper than 128 levels in line 1 of the header");
    }

    #[test]
    fn sources_are_the_text_as_written() {
        let raw = parse("a:\n  - fix: the bug\n  - x\nb: [WIP]\n").unwrap();
        let RawContent::Map(entries) = &raw.content else { panic!("a map") };
        assert_eq!(entries[0].1.source(), Some("- fix: the bug\n  - x"));
        assert_eq!(entries[1].1.source(), Some("[WIP]"));
        let RawContent::List(items) = &entries[0].1.content else { panic!("a list") };
        assert_eq!(items[0].source(), Some("fix: the bug"));
    }
}
