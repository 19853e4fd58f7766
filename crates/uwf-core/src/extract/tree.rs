//! An answer as written: scalars as raw text, so that the schema, not the notation, decides their type.

use std::ops::Range;
use std::rc::Rc;

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Bare: `no`, `1.10`, `null` may stand for more than their text.
    Plain,
    /// In quotes or as a block: its text is what was meant.
    Quoted,
    /// Bare in JSON, which has types: read as a text it is another value than was written.
    Token,
}

impl Style {
    /// Whether it may stand for more than its text.
    pub(super) fn is_bare(self) -> bool {
        match self {
            Style::Plain | Style::Token => true,
            Style::Quoted => false,
        }
    }
}

/// Part of a text that many places share.
#[derive(Debug, Clone)]
pub(super) struct RawSource {
    pub(super) text: Rc<str>,
    pub(super) range: Range<usize>,
}

/// One place of an answer.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub(super) content: RawContent,
    source: Option<RawSource>,
}

/// What stands there.
#[derive(Debug, Clone)]
pub(super) enum RawContent {
    Scalar(RawScalar),
    List(Vec<Raw>),
    /// Keys in order; one that is written twice is here twice.
    Map(Vec<(String, Raw)>),
}

/// A scalar as written.
#[derive(Debug, Clone)]
pub(super) struct RawScalar {
    pub(super) text: String,
    pub(super) style: Style,
    /// The text with what YAML took for a trailing comment: `Fix #42`.
    pub(super) uncut: Option<String>,
}

impl Raw {
    /// A place whose source text is known.
    pub(super) fn new(content: RawContent, source: RawSource) -> Raw {
        Raw { content, source: Some(source) }
    }

    /// The place as it was written, without trailing blanks, where that is known.
    pub(super) fn source(&self) -> Option<&str> {
        let source = self.source.as_ref()?;
        source.text.get(source.range.clone()).map(str::trim_end)
    }

    /// Where the place is in its source text, where that is known.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        self.source.as_ref().map(|source| source.range.clone())
    }

    /// A place that was put together, so that no one text is its source.
    pub(super) fn unplaced(content: RawContent) -> Raw {
        Raw { content, source: None }
    }

    /// The same place with other content.
    pub(super) fn with(&self, content: RawContent) -> Raw {
        Raw { content, source: self.source.clone() }
    }

    /// A scalar whose text is all there is to it.
    pub(super) fn scalar(text: impl Into<String>, style: Style) -> Raw {
        Raw::unplaced(RawContent::Scalar(RawScalar { text: text.into(), style, uncut: None }))
    }

    /// Whether two places say the same, however they are written.
    pub(super) fn says_the_same(&self, other: &Raw) -> bool {
        match (&self.content, &other.content) {
            (RawContent::Scalar(left), RawContent::Scalar(right)) => {
                left.text == right.text && left.uncut == right.uncut
            }
            (RawContent::List(left), RawContent::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.says_the_same(r))
            }
            (RawContent::Map(left), RawContent::Map(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|((lk, l), (rk, r))| lk == rk && l.says_the_same(r))
            }
            _ => false,
        }
    }

    /// Every scalar and every key with its place (`a.b[0]`).
    pub(super) fn visit(&self, path: &str, look: &mut impl FnMut(&str, &str)) {
        match &self.content {
            RawContent::Scalar(scalar) => look(path, &scalar.text),
            RawContent::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.visit(&format!("{path}[{index}]"), look);
                }
            }
            RawContent::Map(entries) => {
                for (key, value) in entries {
                    look(path, key);
                    value.visit(&below(path, key), look);
                }
            }
        }
    }

    /// Whether nothing was written: an empty bare scalar.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.content, RawContent::Scalar(RawScalar { text, style: Style::Plain, uncut: None }) if text.is_empty())
    }
}

/// The place of a key within a place.
pub(super) fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
