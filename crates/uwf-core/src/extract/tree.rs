//! An answer as written: scalars as raw text, so that the schema, not the notation, decides their type.

use std::ops::Range;
use std::rc::Rc;

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawScalarStyle {
    /// Bare: `no`, `1.10`, `null` may mean something other than their text.
    Plain,
    /// In quotes or as a block: the text itself is meant.
    Quoted,
    /// Bare in JSON. JSON has types, so reading the token as a text changes its value.
    Token,
}

impl RawScalarStyle {
    /// Whether it may mean something other than its text.
    pub(super) fn is_bare(self) -> bool {
        match self {
            RawScalarStyle::Plain | RawScalarStyle::Token => true,
            RawScalarStyle::Quoted => false,
        }
    }
}

/// A range of a text that many places share.
#[derive(Debug, Clone)]
pub(super) struct RawSource {
    pub(super) text: Rc<str>,
    pub(super) range: Range<usize>,
}

/// One place of an answer.
#[derive(Debug, Clone)]
pub(super) struct RawTree {
    pub(super) content: RawContent,
    source: Option<RawSource>,
}

/// The content of a place.
#[derive(Debug, Clone)]
pub(super) enum RawContent {
    Scalar(RawScalar),
    List(Vec<RawTree>),
    /// Keys in order, including repeated keys.
    Map(Vec<(String, RawTree)>),
}

/// A scalar as written.
#[derive(Debug, Clone)]
pub(super) struct RawScalar {
    pub(super) text: String,
    pub(super) style: RawScalarStyle,
    /// The text including what YAML took for a trailing comment: `Fix #42`.
    pub(super) uncut: Option<String>,
}

impl RawTree {
    /// A place whose source text is known.
    pub(super) fn new(content: RawContent, source: RawSource) -> RawTree {
        RawTree { content, source: Some(source) }
    }

    /// The place as it was written, without trailing blanks, if its source is known.
    pub(super) fn source(&self) -> Option<&str> {
        let source = self.source.as_ref()?;
        source.text.get(source.range.clone()).map(str::trim_end)
    }

    /// The range of the place in its source text, if its source is known.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        self.source.as_ref().map(|source| source.range.clone())
    }

    /// A place that was put together, so that no single text is its source.
    pub(super) fn unplaced(content: RawContent) -> RawTree {
        RawTree { content, source: None }
    }

    /// The same place with other content.
    pub(super) fn with(&self, content: RawContent) -> RawTree {
        RawTree { content, source: self.source.clone() }
    }

    /// A scalar without `uncut` text or a source.
    pub(super) fn scalar(text: impl Into<String>, style: RawScalarStyle) -> RawTree {
        RawTree::unplaced(RawContent::Scalar(RawScalar { text: text.into(), style, uncut: None }))
    }

    /// Whether two places have the same content, however they are written.
    pub(super) fn says_the_same(&self, other: &RawTree) -> bool {
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

    /// Calls `look` for every scalar and every key, with its place (`a.b[0]`).
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

    /// Whether it is empty: a bare scalar without text.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.content, RawContent::Scalar(RawScalar { text, style: RawScalarStyle::Plain, uncut: None }) if text.is_empty())
    }
}

/// The place of a key within a place.
pub(super) fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
