//! The tree of a text.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use crate::scalar::{PlainScalar, scalar};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// Starts at 1.
    pub line: usize,
    /// In characters, starts at 1.
    pub column: usize,
}

impl TextPosition {
    /// The place of problems that concern the whole text.
    pub const FIRST: TextPosition = TextPosition { line: 1, column: 1 };
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// Where the value starts.
    pub at: TextPosition,
    /// Its bytes in the text. A block scalar's span covers the lines below `|`. The span of a list whose items are not indented begins
    /// with its first item.
    pub span: Range<usize>,
    /// Whether `&name` names the value.
    pub anchored: bool,
    /// Whether `*name` repeats the value here. Place and bytes are then the alias's, while children keep their original places.
    pub alias: bool,
    /// Whether it is a list in brackets or a mapping in braces, not one with its entries on separate lines.
    pub flow: bool,
    /// `!tag` before the value.
    pub tag: Option<YamlTag>,
    /// The content.
    pub data: YamlContent,
}

/// The content of a value. Keys are in the order of the text, a repeated key appears twice, and `<<` is an ordinary key.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlContent {
    /// A text, number, boolean or null, as written.
    Scalar {
        /// Without quotes, with escapes resolved.
        text: String,
        /// How the text was written.
        style: YamlScalarStyle,
    },
    /// A list.
    Sequence(Vec<YamlNode>),
    /// A mapping.
    Mapping(Vec<MappingEntry>),
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlScalarStyle {
    /// Without quotes: it may be null, a boolean or a number.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// Lines after `|` or `>`.
    Block,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlTag {
    /// The tag as messages show it.
    pub text: String,
    /// The name of a type of YAML's core schema (`str`, `map`), if the tag is one.
    pub core: Option<String>,
}

/// One key of a mapping with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingEntry {
    /// The key.
    pub key: String,
    /// Where the key starts.
    pub key_at: TextPosition,
    /// Bytes of the key, including quotes.
    pub key_span: Range<usize>,
    /// The value; an empty plain scalar if the value is missing.
    pub value: YamlNode,
}

/// Why a text can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where reading stopped.
    pub at: TextPosition,
    /// Kind of the error, in kebab case: `syntax`, `too-deep`, `too-big`, `complex-key`, `bad-alias`, `many-documents`.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// How to fix it.
    pub hint: Option<&'static str>,
}

impl SyntaxError {
    pub(crate) fn new(code: &'static str, at: TextPosition, message: impl Into<String>) -> SyntaxError {
        SyntaxError { at, code, message: message.into(), hint: None }
    }
}

impl MappingEntry {
    /// Offset after the last byte of the value, or after the key's colon if there is no value.
    #[must_use]
    pub fn end(&self) -> usize {
        // The parser places a missing value somewhere after the colon.
        if self.value.is_nothing() { self.value.span.end.min(self.key_span.end + 1) } else { self.value.span.end }
    }
}

impl YamlNode {
    /// The keys of a mapping; none for anything else.
    #[must_use]
    pub fn entries(&self) -> &[MappingEntry] {
        match &self.data {
            YamlContent::Mapping(entries) => entries,
            YamlContent::Scalar { .. } | YamlContent::Sequence(_) => &[],
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Whether the value is missing, as after `key:`.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.alias
            && matches!(&self.data, YamlContent::Scalar { text, style: YamlScalarStyle::Plain } if text.is_empty())
    }

    /// The meaning of a scalar; `None` for lists and mappings.
    fn scalar(&self) -> Option<PlainScalar> {
        match &self.data {
            YamlContent::Scalar { text, style: YamlScalarStyle::Plain } => Some(scalar(text)),
            YamlContent::Scalar { .. } => Some(PlainScalar::Text),
            YamlContent::Sequence(_) | YamlContent::Mapping(_) => None,
        }
    }

    /// Whether the value is null or missing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.scalar() == Some(PlainScalar::Null)
    }

    /// The text of any scalar as written, including null.
    #[must_use]
    pub fn as_written(&self) -> Option<&str> {
        match &self.data {
            YamlContent::Scalar { text, .. } => Some(text),
            YamlContent::Sequence(_) | YamlContent::Mapping(_) => None,
        }
    }

    /// The text of a scalar as written, unless it is null.
    #[must_use]
    pub fn as_raw(&self) -> Option<&str> {
        self.as_written().filter(|_| !self.is_null())
    }

    /// The text of a scalar that is not a number, boolean or null.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.as_written().filter(|_| self.scalar() == Some(PlainScalar::Text))
    }

    /// The value of a boolean scalar.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.scalar() {
            Some(PlainScalar::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// The value of a numeric scalar.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match self.scalar() {
            Some(PlainScalar::Number(value)) => Some(value),
            _ => None,
        }
    }

    /// The kind of value, for messages: `a text`, `a number`, …
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match (&self.data, self.scalar()) {
            (YamlContent::Sequence(_), _) => "a list",
            (YamlContent::Mapping(_), _) => "a mapping",
            (_, Some(PlainScalar::Null)) => "null",
            (_, Some(PlainScalar::Bool(_))) => "a boolean",
            (_, Some(PlainScalar::Number(_) | PlainScalar::Unstorable)) => "a number",
            (_, Some(PlainScalar::Text) | None) => "a text",
        }
    }

    /// The value as JSON. Numbers that JSON or a double can't hold (`.inf`, `.nan`, 36893488147419103233) become null and are reported with their text.
    pub fn to_json(&self, unstorable: &mut dyn FnMut(TextPosition, &str)) -> Value {
        match &self.data {
            YamlContent::Scalar { text, .. } => match self.scalar() {
                Some(PlainScalar::Null) => Value::Null,
                Some(PlainScalar::Bool(value)) => Value::Bool(value),
                Some(PlainScalar::Number(value)) => Value::Number(value),
                Some(PlainScalar::Text) | None => Value::String(text.clone()),
                Some(PlainScalar::Unstorable) => {
                    unstorable(self.at, text);
                    Value::Null
                }
            },
            YamlContent::Sequence(items) => items.iter().map(|item| item.to_json(unstorable)).collect(),
            YamlContent::Mapping(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json(unstorable)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}
