//! Reads a JSON file into the tree, with places. YAML readers take most of JSON, but not tabs and not every
//! escape.

use std::collections::HashMap;

use super::problem::{Position, Problems};
use super::source::{MAX_DEPTH, duplicate};
use super::tree::{Data, Entry, Node};

/// What became of the text.
pub(super) enum Outcome {
    /// It is JSON; the problems are those of the tree, such as duplicate keys.
    Read(Node, Problems),
    /// It was meant to be JSON and is not.
    Broken(Problems),
    /// It is something else, say YAML.
    NotJson,
}

/// Reads `text` as JSON if it starts like JSON.
pub(super) fn parse(text: &str, file: &str) -> Outcome {
    let named_json = file.to_ascii_lowercase().ends_with(".json");
    let mut start = text.trim_start().chars();
    let opens = matches!(start.next(), Some('{' | '['));
    if !opens && !named_json {
        return Outcome::NotJson;
    }
    let mut reader = Reader { rest: text, at: Position::FIRST, depth: 0, problems: Problems::new(file) };
    match reader.document() {
        Ok(node) => Outcome::Read(node, reader.problems),
        // `{` may also open a flow mapping of YAML, which doesn't need quotes around keys.
        Err(_) if !named_json && !start.as_str().trim_start().starts_with('"') => Outcome::NotJson,
        Err((at, message)) => {
            let mut problems = Problems::new(file);
            let (code, message) = if text.trim().is_empty() {
                ("empty-file", "the file is empty".to_owned())
            } else {
                ("syntax", format!("not valid JSON: {message}"))
            };
            problems.error(code, at, message, None);
            Outcome::Broken(problems)
        }
    }
}

type Broken = (Position, String);

struct Reader<'t> {
    rest: &'t str,
    at: Position,
    depth: usize,
    problems: Problems,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Node, Broken> {
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
                self.at = Position { line: self.at.line + 1, column: 1 };
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

    fn unexpected<T>(&self, found: char, wanted: &str) -> Result<T, Broken> {
        let found = if found.is_control() { found.escape_default().to_string() } else { found.to_string() };
        Err((self.at, format!("found `{found}` where {wanted} should be")))
    }

    /// The next symbol after white space, not consumed.
    fn peek(&mut self, wanted: &str) -> Result<char, Broken> {
        self.space();
        let ended = || (self.at, format!("the file ends where {wanted} should be"));
        self.rest.chars().next().ok_or_else(ended)
    }

    fn value(&mut self) -> Result<Node, Broken> {
        let first = self.peek("a value")?;
        let at = self.at;
        if self.depth >= MAX_DEPTH {
            return Err((at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let data = match first {
            '{' => self.nested(Reader::object)?,
            '[' => self.nested(Reader::array)?,
            '"' => Data::Scalar { text: self.string()?, plain: false },
            _ => Data::Scalar { text: self.word(first)?, plain: true },
        };
        Ok(Node { at, data })
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Data, Broken>) -> Result<Data, Broken> {
        self.depth += 1;
        self.advance(1);
        let data = read(self)?;
        self.depth -= 1;
        Ok(data)
    }

    fn object(&mut self) -> Result<Data, Broken> {
        let mut entries = Vec::new();
        let mut keys: HashMap<String, Position> = HashMap::new();
        if self.peek("a key or `}`")? == '}' {
            self.advance(1);
            return Ok(Data::Mapping(entries));
        }
        loop {
            let first = self.peek("a key")?;
            let key_at = self.at;
            if first != '"' {
                return self.unexpected(first, "a key in double quotes");
            }
            let key = self.string()?;
            match self.peek("`:`")? {
                ':' => self.advance(1),
                other => return self.unexpected(other, "`:`"),
            }
            let value = self.value()?;
            if let Some(first) = keys.get(&key) {
                self.problems.error("duplicate-key", key_at, duplicate(&key, *first), None);
            } else {
                keys.insert(key.clone(), key_at);
                entries.push(Entry { key, key_at, value });
            }
            if self.ends('}')? {
                return Ok(Data::Mapping(entries));
            }
        }
    }

    fn array(&mut self) -> Result<Data, Broken> {
        let mut items = Vec::new();
        if self.peek("a value or `]`")? == ']' {
            self.advance(1);
            return Ok(Data::Sequence(items));
        }
        loop {
            items.push(self.value()?);
            if self.ends(']')? {
                return Ok(Data::Sequence(items));
            }
        }
    }

    /// Consumes a comma (false) or the closing bracket (true).
    fn ends(&mut self, close: char) -> Result<bool, Broken> {
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

    fn string(&mut self) -> Result<String, Broken> {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| match c {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            c => *c == '"',
        });
        let Some((end, _)) = end else {
            return Err((self.at, "this text is never closed".to_owned()));
        };
        let parsed = serde_json::from_str(&self.rest[..=end]);
        let text = parsed.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
            (self.at, format!("a text that is not valid: {reason}"))
        })?;
        self.advance(end + 1);
        Ok(text)
    }

    /// `null`, `true`, `false` or a number.
    fn word(&mut self, first: char) -> Result<String, Broken> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        if word.is_empty() {
            return self.unexpected(first, "a value");
        }
        if serde_json::from_str::<serde_json::Value>(&word).is_err() {
            return Err((self.at, format!("`{word}` is not a value; quote it if it is a text")));
        }
        self.advance(end);
        Ok(word)
    }
}
