//! Builds the tree of a YAML text from its parser's events, within limits.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use crate::node::{MappingEntry, SyntaxError, TextPosition, YamlContent, YamlNode, YamlScalarStyle, YamlTag};

/// Maximum nesting of a text. Every walk over a tree recurses, so nesting is bounded. People write fewer than 20 levels.
pub const MAX_DEPTH: usize = 128;

/// Limit for what aliases add to one text: 1 for each value, and 1 for each [`TEXT_UNIT`] bytes of text. It bounds the memory that an
/// alias bomb can take to some tens of MB.
const MAX_REPEATED: usize = 250_000;

/// Bytes of text that count as much as one value.
const TEXT_UNIT: usize = 64;

/// Parses a text with at most one YAML document; `None` if the text has no content. A leading byte order mark is skipped.
///
/// The caller must limit the length of the text: its tree takes about a hundred times as much memory.
///
/// # Errors
/// [`SyntaxError`] at the first place after which the rest can't be read.
pub fn parse(text: &str) -> Result<Option<YamlNode>, SyntaxError> {
    let offsets = ByteOffsets::new(text);
    let body = &text[offsets.begin..];
    let mut builder =
        YamlTreeBuilder { text, offsets, root: None, open: Vec::new(), anchors: HashMap::new(), repeated: 0 };
    for event in Parser::new_from_str(body) {
        let (event, span) = event.map_err(|error| unreadable(&error, body))?;
        builder.event(event, span)?;
    }
    Ok(builder.root)
}

fn unreadable(error: &ScanError, text: &str) -> SyntaxError {
    let at = position(*error.marker());
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let indent = &line[..line.len() - line.trim_start().len()];
    let hint = if indent.contains('\t') {
        Some("indent with spaces; YAML does not allow tabs there")
    } else if error.info().contains("mapping values are not allowed") {
        Some("quote a text that contains `: `, or check the indentation")
    } else if error.info().contains("flow") {
        Some("inside `{ }` and `[ ]`, quote texts that contain any of `, [ ] { }`")
    } else if line.trim_start().starts_with(['@', '`', '%']) || error.info().contains("unexpected character") {
        Some("quote texts that start with a special character")
    } else {
        None
    };
    SyntaxError { hint, ..SyntaxError::new("syntax", at, error.info()) }
}

fn position(marker: Marker) -> TextPosition {
    TextPosition { line: marker.line(), column: marker.col() + 1 }
}

/// Converts the parser's character positions to byte offsets.
struct ByteOffsets {
    /// Where the text begins after a byte order mark, which is not passed to the parser.
    begin: usize,
    /// Byte offset of each character; `None` for ASCII, where both are equal.
    bytes: Option<Vec<usize>>,
    end: usize,
}

impl ByteOffsets {
    fn new(text: &str) -> ByteOffsets {
        let begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let body = &text[begin..];
        let bytes = (!body.is_ascii()).then(|| body.char_indices().map(|(at, _)| at + begin).collect());
        ByteOffsets { begin, bytes, end: text.len() }
    }

    fn byte(&self, marker: Marker) -> usize {
        let byte = match &self.bytes {
            Some(bytes) => bytes.get(marker.index()).copied(),
            None => Some(self.begin + marker.index()),
        };
        byte.unwrap_or(self.end).min(self.end)
    }
}

/// A collection that is still open.
struct OpenCollection {
    at: TextPosition,
    start: usize,
    anchor: usize,
    tag: Option<YamlTag>,
    holds: CollectionContent,
}

enum CollectionContent {
    Items(Vec<YamlNode>),
    Entries(Vec<MappingEntry>, Option<PendingKey>),
}

/// A key whose value comes next.
struct PendingKey {
    text: String,
    at: TextPosition,
    span: Range<usize>,
}

/// A finished value that aliases may repeat.
struct AnchorValue {
    node: YamlNode,
    weight: usize,
    height: usize,
}

struct YamlTreeBuilder<'t> {
    text: &'t str,
    offsets: ByteOffsets,
    root: Option<YamlNode>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, AnchorValue>,
    repeated: usize,
}

impl YamlTreeBuilder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let at = position(span.start);
        let (start, end) = (self.offsets.byte(span.start), self.offsets.byte(span.end));
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                let error = SyntaxError::new("many-documents", at, "a second document starts here");
                Err(SyntaxError { hint: Some("keep one document per file"), ..error })
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
            Event::Alias(id) => self.alias(id, at, start, end),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().map(read_tag);
                let (style, end) = self.scalar_end(style, &text, start, end);
                // `!!str 5` is a text.
                let is_text = tag.as_ref().is_some_and(|tag| tag.core.as_deref() == Some("str"));
                let style =
                    if is_text && style == YamlScalarStyle::Plain { YamlScalarStyle::DoubleQuoted } else { style };
                let data = YamlContent::Scalar { text: text.into_owned(), style };
                self.value(
                    anchor,
                    YamlNode { at, span: start..end, anchored: anchor > 0, alias: false, flow: false, tag, data },
                )
            }
            Event::SequenceStart(anchor, tag) => self.open(OpenCollection {
                at,
                start,
                anchor,
                tag: tag.as_deref().map(read_tag),
                holds: CollectionContent::Items(Vec::new()),
            }),
            Event::MappingStart(anchor, tag) => {
                let holds = CollectionContent::Entries(Vec::new(), None);
                self.open(OpenCollection { at, start, anchor, tag: tag.as_deref().map(read_tag), holds })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                // The parser's span of a closing bracket may include what follows it, up to a comment, so use only the bracket itself. A
                // collection on separate lines has no bracket and ends with its last value.
                self.close((!span.is_empty()).then_some(start + 1))
            }
        }
    }

    fn open(&mut self, open: OpenCollection) -> Result<(), SyntaxError> {
        if let Some(OpenCollection { holds: CollectionContent::Entries(_, None), .. }) = self.open.last() {
            return Err(complex_key(open.at));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(open.at));
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, bracket: Option<usize>) -> Result<(), SyntaxError> {
        let Some(OpenCollection { at, start, anchor, tag, holds }) = self.open.pop() else { return Ok(()) };
        let flow = bracket.is_some();
        let (last, data) = match holds {
            CollectionContent::Items(items) => (items.last().map(|item| item.span.end), YamlContent::Sequence(items)),
            CollectionContent::Entries(entries, _) => {
                (entries.last().map(MappingEntry::end), YamlContent::Mapping(entries))
            }
        };
        let end = bracket.or(last).unwrap_or(start).max(start);
        self.value(anchor, YamlNode { at, span: start..end, anchored: anchor > 0, alias: false, flow, tag, data })
    }

    fn alias(&mut self, id: usize, at: TextPosition, start: usize, end: usize) -> Result<(), SyntaxError> {
        let Some(AnchorValue { node, weight, height }) = self.anchors.get(&id) else {
            return Err(SyntaxError::new("bad-alias", at, "this alias is inside the value that it refers to"));
        };
        if self.open.len() + height > MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.repeated += weight;
        if self.repeated > MAX_REPEATED {
            return Err(SyntaxError::new("too-big", at, "the file holds too many values here, aliases expanded"));
        }
        let span = start..start + self.text[start..end].trim_end().len();
        let node = YamlNode { at, span, anchored: false, alias: true, ..node.clone() };
        self.value(0, node)
    }

    /// Puts a finished value into the innermost open collection.
    fn value(&mut self, anchor: usize, node: YamlNode) -> Result<(), SyntaxError> {
        if anchor > 0 {
            let (weight, height) = measure(&node);
            self.anchors.insert(anchor, AnchorValue { node: node.clone(), weight, height });
        }
        match self.open.last_mut().map(|open| &mut open.holds) {
            None => self.root = Some(node),
            Some(CollectionContent::Items(items)) => items.push(node),
            Some(CollectionContent::Entries(entries, key)) => match (key.take(), node.data) {
                (Some(PendingKey { text, at, span }), data) => {
                    entries.push(MappingEntry {
                        key: text,
                        key_at: at,
                        key_span: span,
                        value: YamlNode { data, ..node },
                    });
                }
                (None, YamlContent::Scalar { text, .. }) => {
                    *key = Some(PendingKey { text, at: node.at, span: node.span });
                }
                (None, YamlContent::Sequence(_) | YamlContent::Mapping(_)) => return Err(complex_key(node.at)),
            },
        }
        Ok(())
    }

    /// Style and true end of a scalar. The parser's span of a quoted scalar includes a comment after it, and its span of a block scalar
    /// includes the indentation of the next line.
    fn scalar_end(&self, style: ScalarStyle, text: &str, start: usize, end: usize) -> (YamlScalarStyle, usize) {
        let written = &self.text[start..end.max(start)];
        let (style, quote) = match style {
            ScalarStyle::Plain if text.is_empty() => return (YamlScalarStyle::Plain, start),
            ScalarStyle::Plain => return (YamlScalarStyle::Plain, end),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let lines = written.trim_end_matches(' ');
                return (YamlScalarStyle::Block, if lines.ends_with('\n') { start + lines.len() } else { end });
            }
            ScalarStyle::SingleQuoted => (YamlScalarStyle::SingleQuoted, '\''),
            ScalarStyle::DoubleQuoted => (YamlScalarStyle::DoubleQuoted, '"'),
        };
        let mut symbols = written.char_indices().skip_while(|(_, symbol)| *symbol != quote).skip(1).peekable();
        while let Some((at, symbol)) = symbols.next() {
            match symbol {
                '\\' if quote == '"' => drop(symbols.next()),
                '\'' if quote == '\'' && symbols.peek().is_some_and(|(_, next)| *next == quote) => drop(symbols.next()),
                _ if symbol == quote => return (style, start + at + 1),
                _ => {}
            }
        }
        (style, end)
    }
}

fn read_tag(tag: &saphyr_parser::Tag) -> YamlTag {
    let is_core = tag.is_yaml_core_schema() || tag.handle.is_empty();
    YamlTag { text: tag.to_string(), core: is_core.then(|| tag.suffix.clone()) }
}

fn complex_key(at: TextPosition) -> SyntaxError {
    SyntaxError::new("complex-key", at, "a key must be a text")
}

fn too_deep(at: TextPosition) -> SyntaxError {
    SyntaxError::new("too-deep", at, format!("nested deeper than {MAX_DEPTH} levels"))
}

/// Weight and height of a tree.
fn measure(node: &YamlNode) -> (usize, usize) {
    let children: Vec<(usize, usize)> = match &node.data {
        YamlContent::Scalar { text, .. } => return (1 + text.len() / TEXT_UNIT, 0),
        YamlContent::Sequence(items) => items.iter().map(measure).collect(),
        YamlContent::Mapping(entries) => entries.iter().map(|entry| measure(&entry.value)).collect(),
    };
    let weight = children.iter().map(|(weight, _)| weight).sum::<usize>() + 1;
    let height = children.iter().map(|(_, height)| height + 1).max().unwrap_or(0);
    (weight, height)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every key and value with its place and the bytes of its span.
    fn draw(text: &str) -> Vec<String> {
        fn below(node: &YamlNode, text: &str, lines: &mut Vec<String>) {
            let TextPosition { line, column } = node.at;
            let alias = if node.alias { " (alias)" } else { "" };
            lines.push(format!("{line}:{column} {:?}{alias}", &text[node.span.clone()]));
            match &node.data {
                YamlContent::Scalar { .. } => {}
                YamlContent::Sequence(_) | YamlContent::Mapping(_) if node.alias => {}
                YamlContent::Sequence(items) => items.iter().for_each(|item| below(item, text, lines)),
                YamlContent::Mapping(entries) => {
                    for entry in entries {
                        let TextPosition { line, column } = entry.key_at;
                        lines.push(format!("{line}:{column} key {:?}", &text[entry.key_span.clone()]));
                        below(&entry.value, text, lines);
                    }
                }
            }
        }
        let mut lines = Vec::new();
        if let Some(root) = parse(text).unwrap() {
            below(&root, text, &mut lines);
        }
        lines
    }

    #[test]
    fn every_value_knows_its_line_and_its_bytes() {
        let text = "\u{feff}é: \"a # b\" # note\n'k': [x, {y: 1}] # note\nlong: |\n  two\n  lines\nnone:\nlist:\n- a\n- &b b\n- *b\n";
        assert_eq!(
            draw(text),
            [
                "1:1 \"é: \\\"a # b\\\" # note\\n'k': [x, {y: 1}] # note\\nlong: |\\n  two\\n  lines\\nnone:\\nlist:\\n- a\\n- &b b\\n- *b\"",
                "1:1 key \"é\"",
                "1:4 \"\\\"a # b\\\"\"",
                "2:1 key \"'k'\"",
                "2:6 \"[x, {y: 1}]\"",
                "2:7 \"x\"",
                "2:10 \"{y: 1}\"",
                "2:11 key \"y\"",
                "2:14 \"1\"",
                "3:1 key \"long\"",
                "4:3 \"two\\n  lines\\n\"",
                "6:1 key \"none\"",
                "6:5 \"\"",
                "7:1 key \"list\"",
                "8:3 \"a\\n- &b b\\n- *b\"",
                "8:3 \"a\"",
                "9:3 \"&b b\"",
                "10:3 \"*b\" (alias)",
            ]
        );
    }

    #[test]
    fn a_text_that_says_nothing_has_no_tree() {
        for text in ["", "# note\n", "\u{feff}"] {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn duplicate_and_merge_keys_are_left_to_caller() {
        let root = parse("a: 1\na: 2\n<<: {b: 3}\n").unwrap().unwrap();
        let keys: Vec<&str> = root.entries().iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["a", "a", "<<"]);
    }

    proptest! {
        #[test]
        fn places_are_parts_of_the_text(text in "[a-cé&*<:,\\-\\[\\]{}'\"|>!#? ~\n\t0-9.]{0,80}") {
            if parse(&text).is_ok() {
                // Slices every span.
                draw(&text);
            }
            if let Ok(root) = crate::parse_json(&text) {
                prop_assert!(text.get(root.span).is_some());
            }
        }
    }
}
