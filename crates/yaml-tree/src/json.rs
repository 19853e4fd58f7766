//! Reads JSON into the tree. A YAML reader accepts most of JSON, but not tabs and not every escape.

use crate::node::{MappingEntry, SyntaxError, TextPosition, YamlContent, YamlNode, YamlScalarStyle};
use crate::yaml::MAX_DEPTH;

/// Parses a JSON text into a tree. A leading byte order mark is skipped.
///
/// # Errors
/// [`SyntaxError`] at the first place that is not JSON.
pub fn parse(text: &str) -> Result<YamlNode, SyntaxError> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    JsonReader { end: text.len(), rest, at: TextPosition::FIRST, depth: 0 }.document()
}

struct JsonReader<'t> {
    /// Bytes of the whole text.
    end: usize,
    rest: &'t str,
    at: TextPosition,
    depth: usize,
}

impl JsonReader<'_> {
    fn document(&mut self) -> Result<YamlNode, SyntaxError> {
        let node = self.value()?;
        self.space();
        match self.rest.chars().next() {
            None => Ok(node),
            Some(c) => self.unexpected(c, "the end"),
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.at = TextPosition { line: self.at.line + 1, column: 1 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
    }

    fn space(&mut self) {
        let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.advance(self.rest.len() - trimmed.len());
    }

    fn unexpected<T>(&self, found: char, wanted: &str) -> Result<T, SyntaxError> {
        let found = if found.is_control() { found.escape_default().to_string() } else { found.to_string() };
        Err(self.error(format!("found `{found}` where {wanted} should be")))
    }

    fn error(&self, message: String) -> SyntaxError {
        SyntaxError::new("syntax", self.at, message)
    }

    /// Offset of the next byte to read.
    fn byte(&self) -> usize {
        self.end - self.rest.len()
    }

    /// The next character after white space, not consumed.
    fn peek(&mut self, wanted: &str) -> Result<char, SyntaxError> {
        self.space();
        let ended = || self.error(format!("the text ends where {wanted} should be"));
        self.rest.chars().next().ok_or_else(ended)
    }

    fn value(&mut self) -> Result<YamlNode, SyntaxError> {
        let first = self.peek("a value")?;
        let (at, start) = (self.at, self.byte());
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let data = match first {
            '{' => self.nested(JsonReader::object)?,
            '[' => self.nested(JsonReader::array)?,
            '"' => YamlContent::Scalar { text: self.string()?, style: YamlScalarStyle::DoubleQuoted },
            _ => YamlContent::Scalar { text: self.word(first)?, style: YamlScalarStyle::Plain },
        };
        let flow = matches!(data, YamlContent::Sequence(_) | YamlContent::Mapping(_));
        Ok(YamlNode { at, span: start..self.byte(), anchored: false, alias: false, flow, tag: None, data })
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<YamlContent, SyntaxError>,
    ) -> Result<YamlContent, SyntaxError> {
        self.depth += 1;
        self.advance(1);
        let data = read(self)?;
        self.depth -= 1;
        Ok(data)
    }

    fn object(&mut self) -> Result<YamlContent, SyntaxError> {
        let mut entries = Vec::new();
        if self.peek("a key or `}`")? == '}' {
            self.advance(1);
            return Ok(YamlContent::Mapping(entries));
        }
        loop {
            let first = self.peek("a key")?;
            let (key_at, start) = (self.at, self.byte());
            if first != '"' {
                return self.unexpected(first, "a key in double quotes");
            }
            let key = self.string()?;
            let key_span = start..self.byte();
            match self.peek("`:`")? {
                ':' => self.advance(1),
                other => return self.unexpected(other, "`:`"),
            }
            let value = self.value()?;
            entries.push(MappingEntry { key, key_at, key_span, value });
            if self.ends('}')? {
                return Ok(YamlContent::Mapping(entries));
            }
        }
    }

    fn array(&mut self) -> Result<YamlContent, SyntaxError> {
        let mut items = Vec::new();
        if self.peek("a value or `]`")? == ']' {
            self.advance(1);
            return Ok(YamlContent::Sequence(items));
        }
        loop {
            items.push(self.value()?);
            if self.ends(']')? {
                return Ok(YamlContent::Sequence(items));
            }
        }
    }

    /// Consumes a comma (false) or the closing bracket (true).
    fn ends(&mut self, close: char) -> Result<bool, SyntaxError> {
        let wanted = format!("`,` or `{close}`");
        match self.peek(&wanted)? {
            ',' => self.advance(1),
            c if c == close => {
                self.advance(1);
                return Ok(true);
            }
            other => return self.unexpected(other, &wanted),
        }
        Ok(false)
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let mut texts = serde_json::Deserializer::from_str(self.rest).into_iter();
        match texts.next() {
            Some(Ok(text)) => {
                self.advance(texts.byte_offset());
                Ok(text)
            }
            Some(Err(error)) if !error.is_eof() => {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                Err(self.error(format!("a text that is not valid: {reason}")))
            }
            Some(Err(_)) | None => Err(self.error("this text is never closed".to_owned())),
        }
    }

    /// `null`, `true`, `false` or a number.
    fn word(&mut self, first: char) -> Result<String, SyntaxError> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        if word.is_empty() {
            return self.unexpected(first, "a value");
        }
        if serde_json::from_str::<serde_json::Value>(&word).is_err() {
            return Err(self.error(format!("`{word}` is not a value; quote it if it is a text")));
        }
        self.advance(end);
        Ok(word)
    }
}
