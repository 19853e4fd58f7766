//! One YAML block as a tree of raw scalars.
//!
//! `saphyr`'s parser gives every scalar as text with its style and position. Tags, anchors and aliases are refused:
//! in an answer `!important`, `&co` and `*.rs` are text, which the reader by lines keeps as such.

use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::tree::{Content, Raw, Source, Style};

/// Nesting an answer may have; role schemas are far flatter.
const MAX_DEPTH: usize = 64;

/// Reads a block. The error says what is wrong and in which line of the block (from 1).
pub(super) fn parse(text: &str) -> Result<Raw, String> {
    let mut builder = Builder { offsets: Offsets::new(text), text, shared: text.into(), open: Vec::new(), root: None };
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| format!("{} in line {} of the header", error.info(), error.marker().line()))?;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
        }
        if documents > 1 {
            return Err("there is more than one YAML document".to_owned());
        }
        builder.take(event, span).map_err(|what| format!("{what} in line {} of the header", span.start.line()))?;
    }
    builder.root.ok_or_else(|| "the header is empty".to_owned())
}

/// From the parser's character positions to byte positions.
enum Offsets {
    /// ASCII only: they are the same.
    Same,
    Table(Vec<usize>),
}

impl Offsets {
    fn new(text: &str) -> Offsets {
        if text.is_ascii() { Offsets::Same } else { Offsets::Table(text.char_indices().map(|(at, _)| at).collect()) }
    }

    fn byte(&self, character: usize, text: &str) -> usize {
        match self {
            Offsets::Same => character.min(text.len()),
            Offsets::Table(table) => table.get(character).copied().unwrap_or(text.len()),
        }
    }
}

/// A collection that is still open.
struct Frame {
    start: usize,
    /// Written with `[]` or `{}`, or inside such a one.
    flow: bool,
    holds: Holds,
}

enum Holds {
    List(Vec<Raw>),
    Map {
        entries: Vec<(String, Raw)>,
        /// The key whose value comes next, and where it ends.
        key: Option<(String, usize)>,
    },
}

struct Builder<'t> {
    text: &'t str,
    /// The same text, shared by all places.
    shared: Rc<str>,
    offsets: Offsets,
    open: Vec<Frame>,
    root: Option<Raw>,
}

impl<'t> Builder<'t> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), &'static str> {
        let start = self.offsets.byte(span.start.index(), self.text);
        let end = self.offsets.byte(span.end.index(), self.text).max(start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if anchor != 0 || tag.is_some() {
                    return Err("an anchor or tag");
                }
                self.scalar(text.into_owned(), style, start, end);
                Ok(())
            }
            Event::SequenceStart(0, None) => self.enter(start, Holds::List(Vec::new())),
            Event::MappingStart(0, None) => self.enter(start, Holds::Map { entries: Vec::new(), key: None }),
            Event::SequenceStart(..) | Event::MappingStart(..) => Err("an anchor or tag"),
            Event::SequenceEnd | Event::MappingEnd => self.leave(end),
            Event::Alias(_) => Err("an alias"),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
        }
    }

    fn enter(&mut self, start: usize, holds: Holds) -> Result<(), &'static str> {
        if self.open.len() >= MAX_DEPTH {
            return Err("too deep nesting");
        }
        if let Some(Frame { holds: Holds::Map { key: None, .. }, .. }) = self.open.last() {
            return Err("a key that is no text");
        }
        let flow = self.in_flow() || self.text[start..].starts_with(['[', '{']);
        self.open.push(Frame { start, flow, holds });
        Ok(())
    }

    fn leave(&mut self, end: usize) -> Result<(), &'static str> {
        let frame = self.open.pop().ok_or("an end without a start")?;
        let content = match frame.holds {
            Holds::List(items) => Content::List(items),
            Holds::Map { entries, .. } => Content::Map(entries),
        };
        let raw = self.raw(content, frame.start, end);
        self.place(raw);
        Ok(())
    }

    fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.flow)
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, start: usize, end: usize) {
        if let Some(Frame { holds: Holds::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            *key = Some((text, end));
            return;
        }
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted | ScalarStyle::Literal | ScalarStyle::Folded => {
                Style::Quoted
            }
        };
        let uncut = if style == Style::Plain && !self.in_flow() { self.uncut(&text, start, end) } else { None };
        let raw = self.raw(Content::Scalar { text, style, uncut }, start, end);
        self.place(raw);
    }

    fn raw(&self, content: Content, start: usize, end: usize) -> Raw {
        Raw::new(content, Source { text: Rc::clone(&self.shared), range: start..end.max(start) })
    }

    /// The whole text of a bare scalar that YAML ended at ` #`.
    fn uncut(&self, text: &str, start: usize, end: usize) -> Option<String> {
        if !text.is_empty() {
            let rest = first_line(&self.text[end..]);
            return rest.trim_start().starts_with('#').then(|| format!("{text}{}", rest.trim_end()));
        }
        // Nothing but a comment: `title: #42` or `- #42`. With a blank behind the `#` it is meant as a comment.
        let whole = match &self.open.last()?.holds {
            Holds::Map { key, .. } => first_line(&self.text[key.as_ref()?.1..]).trim_start().strip_prefix(':')?,
            Holds::List(_) => {
                let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
                self.text[line..start].trim_start().strip_prefix('-')?
            }
        };
        let whole = whole.trim();
        (whole.starts_with('#') && !whole[1..].starts_with([' ', '\t', '#']) && whole.len() > 1)
            .then(|| whole.to_owned())
    }

    fn place(&mut self, raw: Raw) {
        match self.open.last_mut().map(|frame| &mut frame.holds) {
            None => self.root = Some(raw),
            Some(Holds::List(items)) => items.push(raw),
            Some(Holds::Map { entries, key }) => {
                if let Some((key, _)) = key.take() {
                    entries.push((key, raw));
                }
            }
        }
    }
}

/// The text up to the end of its first line.
fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree in one line: bare scalars as they are, others in quotes, uncut texts after `|`.
    fn draw(raw: &Raw) -> String {
        match &raw.content {
            Content::Scalar { text, style, uncut } => {
                let text = if *style == Style::Plain { text.clone() } else { format!("{text:?}") };
                uncut.as_ref().map_or(text.clone(), |uncut| format!("{text}|{uncut}"))
            }
            Content::List(items) => format!("[{}]", items.iter().map(draw).collect::<Vec<_>>().join(", ")),
            Content::Map(entries) => {
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
    fn what_yaml_takes_for_a_comment_is_kept_beside() {
        assert_eq!(read("é: Fix #42 now # x"), Ok("{é: Fix|Fix #42 now # x}".to_owned()));
        assert_eq!(read("a: #42 fix\nb: # note\nc: 'q' # note"), Ok("{a: |#42 fix, b: , c: \"q\"}".to_owned()));
        assert_eq!(read("a:\n  - #42 fix\n  - Fix #1\n  - b"), Ok("{a: [|#42 fix, Fix|Fix #1, b]}".to_owned()));
        assert_eq!(read("# whole line\na: b"), Ok("{a: b}".to_owned()));
    }

    #[test]
    fn what_is_text_in_an_answer_is_refused_here() {
        assert_eq!(
            read("a: 1\nb: *.rs").unwrap_err(),
            "while parsing node, found unknown anchor in line 2 of the header"
        );
        assert_eq!(read("a: !x y").unwrap_err(), "an anchor or tag in line 1 of the header");
        assert_eq!(read("a: &x y").unwrap_err(), "an anchor or tag in line 1 of the header");
        assert_eq!(read("").unwrap_err(), "the header is empty");
        assert_eq!(read("a: 1\n---\nb: 2").unwrap_err(), "there is more than one YAML document");
        assert_eq!(read(&"- ".repeat(100)).unwrap_err(), "too deep nesting in line 1 of the header");
    }

    #[test]
    fn sources_are_the_text_as_written() {
        let raw = parse("a:\n  - fix: the bug\n  - x\nb: [WIP]\n").unwrap();
        let Content::Map(entries) = &raw.content else { panic!("a map") };
        assert_eq!(entries[0].1.source(), Some("- fix: the bug\n  - x"));
        assert_eq!(entries[1].1.source(), Some("[WIP]"));
        let Content::List(items) = &entries[0].1.content else { panic!("a list") };
        assert_eq!(items[0].source(), Some("fix: the bug"));
    }
}
