//! Where each key and value of a YAML text begins and ends.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

/// A text and the places of its values. The text has been found readable before: not too deep, no key twice.
pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    /// What the file says; `None` when it says nothing.
    pub(super) root: Option<Node>,
}

/// A value; places are bytes.
pub(super) struct Node {
    pub(super) start: usize,
    /// After its last byte; for a block scalar at the beginning of the line after it.
    pub(super) end: usize,
    /// From 1.
    pub(super) line: usize,
    pub(super) form: Form,
}

/// How a value is written.
pub(super) enum Form {
    /// Not at all: null.
    Nothing,
    Scalar(ScalarStyle),
    Alias,
    /// Items on lines of their own.
    List,
    /// Items in brackets.
    FlowList,
    /// Keys on lines of their own.
    Block(Vec<Entry>),
    /// Keys in braces.
    Flow(Vec<Entry>),
}

/// A key with its value.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_start: usize,
    pub(super) key_end: usize,
    /// Of the key, from 0, in characters.
    pub(super) column: usize,
    pub(super) line: usize,
    pub(super) value: Node,
}

impl<'t> Tree<'t> {
    /// Finds the places. What the parser can't read has none.
    pub(super) fn read(text: &'t str) -> Tree<'t> {
        // A byte order mark counts as a character before the first column.
        let begin = text.len() - text.trim_start_matches('\u{feff}').len();
        let offsets: Vec<usize> = text[begin..].char_indices().map(|(at, _)| at + begin).chain([text.len()]).collect();
        let events: Vec<(Event<'_>, Span)> = Parser::new_from_str(&text[begin..]).map_while(Result::ok).collect();
        let is_value = |event: &Event<'_>| {
            matches!(event, Event::Scalar(..) | Event::MappingStart(..) | Event::SequenceStart(..) | Event::Alias(_))
        };
        let first = events.iter().position(|(event, _)| is_value(event));
        let root = first.and_then(|next| Reader { text, events: &events, next, offsets: &offsets }.node());
        let root = root.filter(|root| !matches!(root.form, Form::Nothing));
        Tree { text, root }
    }

    /// The entries of the nodes a path leads through, as far as there are any.
    pub(super) fn along(&self, parts: &[String]) -> Vec<&Entry> {
        let mut found: Vec<&Entry> = Vec::new();
        for part in parts {
            let Some(node) = found.last().map(|entry| &entry.value).or(self.root.as_ref()) else { break };
            let Some(entry) = node.entries().iter().find(|entry| entry.key == *part) else { break };
            found.push(entry);
        }
        found
    }

    /// The line of the last part of a path that is there, from 1.
    pub(super) fn nearest_line(&self, parts: &[String]) -> usize {
        self.along(parts).last().map_or(1, |entry| entry.line)
    }

    /// Whether values stand in braces as JSON has them, so that what is added has to be JSON too.
    pub(super) fn is_json(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(self.text.trim_start_matches('\u{feff}')).is_ok()
    }
}

impl Node {
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.form {
            Form::Block(entries) | Form::Flow(entries) => entries,
            Form::Nothing | Form::Scalar(_) | Form::Alias | Form::List | Form::FlowList => &[],
        }
    }
}

struct Reader<'e> {
    text: &'e str,
    events: &'e [(Event<'e>, Span)],
    next: usize,
    /// Character → byte.
    offsets: &'e [usize],
}

impl Reader<'_> {
    fn byte(&self, marker: Marker) -> usize {
        let last = self.offsets.len() - 1;
        self.offsets[marker.index().min(last)]
    }

    /// The value that begins at the next event; `None` when the text ends before it does.
    fn node(&mut self) -> Option<Node> {
        let (event, span) = self.events.get(self.next)?;
        self.next += 1;
        let (start, end, line) = (self.byte(span.start), self.byte(span.end), span.start.line());
        let node = |end, form| Node { start, end, line, form };
        Some(match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty() => node(start, Form::Nothing),
            Event::Scalar(_, style, ..) => node(self.scalar_end(start, end, *style), Form::Scalar(*style)),
            Event::Alias(_) => node(start + self.text[start..end].trim_end().len(), Form::Alias),
            Event::SequenceStart(..) => {
                let mut last = end;
                while !matches!(self.events.get(self.next)?.0, Event::SequenceEnd) {
                    last = self.node()?.end.max(last);
                }
                match self.close() {
                    Some(end) => node(end, Form::FlowList),
                    None => node(last, Form::List),
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                while !matches!(self.events.get(self.next)?.0, Event::MappingEnd) {
                    entries.push(self.entry()?);
                }
                let last = entries.last().map_or(end, |entry| entry.end());
                match self.close() {
                    Some(end) => node(end, Form::Flow(entries)),
                    None => node(last, Form::Block(entries)),
                }
            }
            _ => return None,
        })
    }

    /// Where a scalar really ends: to the parser, a comment after a quoted one belongs to it, and the indentation of
    /// the line after a block one.
    fn scalar_end(&self, start: usize, end: usize, style: ScalarStyle) -> usize {
        let quote = match style {
            ScalarStyle::SingleQuoted => '\'',
            ScalarStyle::DoubleQuoted => '"',
            ScalarStyle::Plain => return end,
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let lines = self.text[start..end].trim_end_matches(' ');
                return if lines.ends_with('\n') { start + lines.len() } else { end };
            }
        };
        let mut symbols =
            self.text[start..end].char_indices().skip_while(|(_, symbol)| *symbol != quote).skip(1).peekable();
        while let Some((at, symbol)) = symbols.next() {
            match symbol {
                '\\' if quote == '"' => drop(symbols.next()),
                '\'' if quote == '\'' && symbols.peek().is_some_and(|(_, next)| *next == quote) => drop(symbols.next()),
                _ if symbol == quote => return start + at + 1,
                _ => {}
            }
        }
        end
    }

    /// The end of a flow collection; `None` for a block collection, which ends with its last value.
    fn close(&mut self) -> Option<usize> {
        let (_, span) = self.events.get(self.next)?;
        self.next += 1;
        // What follows the bracket belongs to the span too, as far as a comment goes.
        (!span.is_empty()).then(|| self.byte(span.start) + 1)
    }

    fn entry(&mut self) -> Option<Entry> {
        let (event, span) = self.events.get(self.next)?;
        let Event::Scalar(key, ..) = event else { return None };
        self.next += 1;
        let (key_start, key_end) = (self.byte(span.start), self.byte(span.end));
        let (column, line) = (span.start.col(), span.start.line());
        Some(Entry { key: key.to_string(), key_start, key_end, column, line, value: self.node()? })
    }
}

impl Entry {
    /// After its last byte.
    pub(super) fn end(&self) -> usize {
        match self.value.form {
            // The parser puts what is not there somewhere after the colon.
            Form::Nothing => self.value.end.min(self.key_end + 1),
            _ => self.value.end,
        }
    }

    /// After the colon; `None` for a key without one (`{a}`), or with one that has a line of its own.
    pub(super) fn after_colon(&self, text: &str) -> Option<usize> {
        let rest = &text[self.key_end..];
        let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[gap..].starts_with(':').then_some(self.key_end + gap + 1)
    }
}
