//! Reads JSON with common mistakes, as models and commands write it.
//!
//! A mistake with a single possible meaning is repaired, and no character of a string or digit of a number changes. Any other mistake is an
//! error with line and column, which the agent gets as feedback.

use serde_json::Number;

use super::tree::{RawContent, RawScalarStyle, RawTree};

/// Deepest nesting that the store accepts.
const MAX_LEVELS: usize = 128;

/// A mistake that is not repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LooseJsonError {
    line: usize,
    column: usize,
    what: String,
    /// Bytes read so far.
    pub(super) read: usize,
}

impl std::fmt::Display for LooseJsonError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

/// A value and its repairs.
#[derive(Debug)]
pub(super) struct LooseJsonValue {
    pub(super) raw: RawTree,
    /// Repairs, each listed once.
    pub(super) fixes: Vec<String>,
    /// Whether comments were left out.
    pub(super) has_comments: bool,
    /// Offset after the value.
    pub(super) end: usize,
}

/// Reads a text that is one value.
///
/// # Errors
/// The first mistake that is not repaired, or text after the value.
pub(super) fn read(text: &str) -> Result<LooseJsonValue, LooseJsonError> {
    let mut reader = LooseJsonReader::new(text, 0);
    let raw = reader.whole()?;
    reader.blanks()?;
    if reader.at < text.len() {
        return Err(reader.slip("unexpected text after the JSON value"));
    }
    Ok(reader.loose(raw))
}

/// Reads the value at an offset of a text.
pub(super) fn read_at(text: &str, start: usize) -> Result<LooseJsonValue, LooseJsonError> {
    let mut reader = LooseJsonReader::new(text, start);
    let raw = reader.whole()?;
    Ok(reader.loose(raw))
}

/// The fix for a comment.
const LEFT_OUT_COMMENT: &str = "left out a comment";

struct LooseJsonReader<'t> {
    text: &'t str,
    at: usize,
    begin: usize,
    fixes: Vec<String>,
}

impl<'t> LooseJsonReader<'t> {
    fn new(text: &'t str, start: usize) -> LooseJsonReader<'t> {
        LooseJsonReader { text, at: start, begin: start, fixes: Vec::new() }
    }

    fn loose(self, raw: RawTree) -> LooseJsonValue {
        let has_comments = self.fixes.iter().any(|fix| fix == LEFT_OUT_COMMENT);
        LooseJsonValue { raw, fixes: self.fixes, has_comments, end: self.at }
    }

    fn whole(&mut self) -> Result<RawTree, LooseJsonError> {
        self.blanks()?;
        self.value(0)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn slip(&self, what: impl Into<String>) -> LooseJsonError {
        let before = &self.text[self.begin..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        LooseJsonError { line, column, what: what.into(), read: self.at - self.begin }
    }

    fn tolerate(&mut self, what: &str) {
        if !self.fixes.iter().any(|known| known == what) {
            self.fixes.push(what.to_owned());
        }
    }

    /// Skips white space and comments. Returns whether it skipped a line break.
    fn blanks(&mut self) -> Result<bool, LooseJsonError> {
        let begin = self.at;
        loop {
            self.at = self.text.len() - self.rest().trim_start().len();
            let comment = self.rest();
            if comment.starts_with("//") {
                self.at += comment.find('\n').unwrap_or(comment.len());
            } else if comment.starts_with("/*") {
                let Some(end) = comment.find("*/") else {
                    let slip = self.slip("unterminated comment");
                    return Err(LooseJsonError { read: self.text.len() - self.begin, ..slip });
                };
                self.at += end + 2;
            } else {
                break;
            }
            self.tolerate(LEFT_OUT_COMMENT);
        }
        Ok(self.text[begin..self.at].contains('\n'))
    }

    fn value(&mut self, level: usize) -> Result<RawTree, LooseJsonError> {
        if level > MAX_LEVELS {
            return Err(self.slip(format!("nested deeper than {MAX_LEVELS} levels")));
        }
        match self.peek() {
            Some('{') => self.object(level),
            Some('[') => self.list(level),
            Some(quote @ ('"' | '\'')) => Ok(RawTree::scalar(self.string(quote)?, RawScalarStyle::Quoted)),
            Some('“' | '”' | '„') => Ok(RawTree::scalar(self.curly_string()?, RawScalarStyle::Quoted)),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(symbol) if symbol.is_alphabetic() => self.word(),
            Some(symbol) => Err(self.slip(format!("expected a value, found `{symbol}`"))),
            None => Err(self.slip("expected a value, found the end of the text")),
        }
    }

    fn object(&mut self, level: usize) -> Result<RawTree, LooseJsonError> {
        self.at += 1;
        let mut entries = Vec::new();
        self.blanks()?;
        while self.peek() != Some('}') {
            let key = self.key()?;
            self.blanks()?;
            if self.peek() != Some(':') {
                return Err(self.slip(format!("expected `:` behind the key `{key}`")));
            }
            self.at += 1;
            self.blanks()?;
            entries.push((key, self.value(level + 1)?));
            if !self.separator('}')? {
                break;
            }
        }
        self.close('}')?;
        Ok(RawTree::unplaced(RawContent::Map(entries)))
    }

    fn list(&mut self, level: usize) -> Result<RawTree, LooseJsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks()?;
        while self.peek() != Some(']') {
            items.push(self.value(level + 1)?);
            if !self.separator(']')? {
                break;
            }
        }
        self.close(']')?;
        Ok(RawTree::unplaced(RawContent::List(items)))
    }

    /// Skips the comma between two members. Returns whether another member follows. At the end of a line the comma may be missing.
    fn separator(&mut self, close: char) -> Result<bool, LooseJsonError> {
        let breaks = self.blanks()?;
        match self.peek() {
            Some(',') => {
                self.at += 1;
                self.blanks()?;
                if self.peek() == Some(close) {
                    self.tolerate("removed a trailing comma");
                }
                Ok(true)
            }
            Some(symbol) if symbol == close => Ok(false),
            Some('"' | '“' | '{') if breaks => {
                self.tolerate("added a missing comma");
                Ok(true)
            }
            Some(symbol) => Err(self.slip(format!(
                "expected a comma or `{close}`, found `{symbol}` (escape quotation marks inside a string with a backslash)"
            ))),
            None => Err(self.slip(format!("expected `{close}`, found the end of the text"))),
        }
    }

    fn close(&mut self, close: char) -> Result<(), LooseJsonError> {
        if self.peek() != Some(close) {
            return Err(self.slip(format!("expected `{close}`")));
        }
        self.at += 1;
        Ok(())
    }

    fn key(&mut self) -> Result<String, LooseJsonError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some('“' | '”' | '„') => self.curly_string(),
            Some(symbol) if symbol.is_alphabetic() || symbol == '_' => {
                self.tolerate("quoted a key");
                Ok(self.letters().to_owned())
            }
            Some(symbol) => Err(self.slip(format!("expected a key in quotation marks, found `{symbol}`"))),
            None => Err(self.slip("expected a key, found the end of the text")),
        }
    }

    /// Reads an identifier.
    fn letters(&mut self) -> &'t str {
        let rest = self.rest();
        let end =
            rest.find(|symbol: char| !(symbol.is_alphanumeric() || matches!(symbol, '_' | '-'))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> Result<RawTree, LooseJsonError> {
        let begin = self.at;
        let word = self.letters();
        let token = match word {
            "true" | "false" | "null" => word,
            "True" | "False" | "None" => {
                self.tolerate("read Python literals");
                match word {
                    "True" => "true",
                    "False" => "false",
                    _ => "null",
                }
            }
            "NaN" | "Infinity" | "undefined" => {
                self.at = begin;
                return Err(self.slip(format!("`{word}` is not a JSON value")));
            }
            // A one-word string without quotation marks.
            _ if matches!(self.rest().trim_start_matches([' ', '\t']).chars().next(), Some(',' | '}' | ']' | '\n')) => {
                self.tolerate("quoted a string");
                return Ok(RawTree::scalar(word, RawScalarStyle::Plain));
            }
            _ => {
                self.at = begin;
                return Err(self.slip("strings need quotation marks"));
            }
        };
        Ok(RawTree::scalar(token, RawScalarStyle::Token))
    }

    fn number(&mut self) -> Result<RawTree, LooseJsonError> {
        let begin = self.at;
        let rest = self.rest();
        let end = rest.find(|symbol: char| !(symbol.is_ascii_alphanumeric() || matches!(symbol, '.' | '+' | '-')));
        let written = &rest[..end.unwrap_or(rest.len())];
        let digits = &with_all_digits(written);
        let Ok(number) = serde_json::from_str::<Number>(digits) else {
            return Err(self.slip(format!("`{written}` is not a JSON number")));
        };
        if digits != written {
            self.tolerate(&format!("read `{written}` as {digits}"));
        }
        let is_whole = digits.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && number.is_f64() && !digits.trim_start_matches(['-', '0']).is_empty() {
            self.at = begin;
            return Err(self.slip(format!("`{digits}` is too large for a number: write it as a string")));
        }
        if number.as_f64().is_some_and(|float| number.is_f64() && !yaml_tree::keeps_digits(digits, float)) {
            self.at = begin;
            return Err(self.slip(format!("`{digits}` has more digits than a number can keep: write it as a string")));
        }
        self.at += written.len();
        Ok(RawTree::scalar(digits, RawScalarStyle::Token))
    }

    /// Reads a string in typographic quotation marks. Other quotation marks inside leave its end open.
    fn curly_string(&mut self) -> Result<String, LooseJsonError> {
        let begin = self.at;
        let opening = self.peek().map_or(0, char::len_utf8);
        let inside = &self.rest()[opening..];
        let ending = inside.find(['“', '”', '"', '\\', '\n']).and_then(|at| Some((at, inside[at..].chars().next()?)));
        let Some((end, '“' | '”')) = ending else {
            self.at = begin;
            return Err(self.slip("write plain quotation marks (`\"`) around keys and strings"));
        };
        self.tolerate("read typographic quotation marks as plain ones");
        self.at += opening + end + '”'.len_utf8();
        Ok(inside[..end].to_owned())
    }

    fn string(&mut self, quote: char) -> Result<String, LooseJsonError> {
        let begin = self.at;
        if quote == '\'' {
            self.tolerate("read single quotes as double quotes");
        }
        self.at += 1;
        let mut text = String::new();
        // Whether the string has a backslash that is not an escape, and whether it has an escape that is a letter.
        let (mut has_plain, mut has_letter) = (false, false);
        loop {
            let rest = self.rest();
            let Some(at) = rest.find([quote, '\\', '\n']) else {
                self.at = begin;
                let slip = self.slip("unterminated string");
                return Err(LooseJsonError { read: self.text.len() - self.begin, ..slip });
            };
            text.push_str(&rest[..at]);
            self.at += at;
            match rest.as_bytes()[at] {
                b'\\' => {
                    let is_letter = rest[at + 1..].starts_with(['b', 'f', 'n', 'r', 't', 'u']);
                    let is_plain = !self.escape(&mut text, quote)?;
                    has_plain |= is_plain;
                    has_letter |= is_letter;
                    if has_plain && has_letter {
                        // `C:\dir\new`: was the last one meant as a line break?
                        self.at = begin;
                        return Err(self.slip("write each backslash of this string as `\\\\`"));
                    }
                }
                b'\n' => {
                    self.tolerate("kept a line break inside a string");
                    text.push('\n');
                    self.at += 1;
                }
                _ => {
                    self.at += 1;
                    return Ok(text);
                }
            }
        }
    }

    /// Reads a backslash and the characters of its escape. Returns whether it is an escape.
    fn escape(&mut self, text: &mut String, quote: char) -> Result<bool, LooseJsonError> {
        let mut rest = self.rest()[1..].chars();
        let Some(symbol) = rest.next() else { return Err(self.slip("unfinished escape sequence")) };
        let (known, length) = match symbol {
            '"' | '\\' | '/' => (symbol, 1),
            'b' => ('\u{8}', 1),
            'f' => ('\u{c}', 1),
            'n' => ('\n', 1),
            'r' => ('\r', 1),
            't' => ('\t', 1),
            'u' => match self.unicode() {
                Some(found) => found,
                None => return Err(self.slip("`\\u` needs four hexadecimal digits")),
            },
            '\'' if quote == '\'' => ('\'', 1),
            _ => {
                // `\d`: the backslash should have been escaped.
                self.tolerate("kept a backslash that is not an escape");
                text.push('\\');
                self.at += 1;
                return Ok(false);
            }
        };
        text.push(known);
        self.at += 1 + length;
        Ok(true)
    }

    /// Decodes `\uNNNN`, or a surrogate pair. Returns the character and the bytes after the first backslash.
    fn unicode(&mut self) -> Option<(char, usize)> {
        let digits = |from: usize| {
            self.text.get(from..from + 4).filter(|four| four.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let unit = |from: usize| u32::from_str_radix(digits(from)?, 16).ok();
        let first = unit(self.at + 2)?;
        if let Some(symbol) = char::from_u32(first) {
            return Some((symbol, 5));
        }
        let second = self.text[self.at + 6..].starts_with("\\u").then(|| unit(self.at + 8)).flatten();
        if let Some(second) = second.filter(|second| first < 0xDC00 && (0xDC00..0xE000).contains(second)) {
            return char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).map(|symbol| (symbol, 11));
        }
        self.tolerate("replaced a lone surrogate with U+FFFD");
        Some(('\u{FFFD}', 5))
    }
}

/// A number with the digit before its point, and without a plus sign: `.5`, `+1`.
fn with_all_digits(number: &str) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number.strip_prefix('+').unwrap_or(number)),
    };
    if number.starts_with(['+', '-']) && digits.starts_with(['+', '-']) {
        return number.to_owned();
    }
    let zero = if digits.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{digits}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::typed::untyped;
    use super::*;

    fn value(text: &str) -> Value {
        untyped(&read(text).unwrap_or_else(|slip| panic!("{text}: {slip}")).raw)
    }

    fn error(text: &str) -> String {
        read(text).map(|loose| untyped(&loose.raw)).unwrap_err().to_string()
    }

    #[test]
    fn json_is_read_as_it_is() {
        for text in
            ["{}", "[]", "{\"a\": [1, -2.5, 1e3, true, null, \"x\\n\\u00e9\\ud83d\\ude00\"]}", " [[], {\"a\": {}}] "]
        {
            assert_eq!(value(text), serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(read(text).unwrap().fixes, Vec::<String>::new());
        }
    }

    #[test]
    fn slips_with_one_meaning_are_mended() {
        for (text, expected) in [
            ("{\"a\": \"\\d+\"}", json!({"a": "\\d+"})),
            ("{\"a\": \"1\"\n \"b\": \"2\"}", json!({"a": "1", "b": "2"})),
            ("{\"a\": \"x\\ud83d\"}", json!({"a": "x\u{FFFD}"})),
            ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"})),
            ("{'a': None, 'b': True, 'c': 'it\\'s'}", json!({"a": null, "b": true, "c": "it's"})),
            ("{a: done, b: [1, 2,],}", json!({"a": "done", "b": [1, 2]})),
            ("{\"a\": 1} // end", json!({"a": 1})),
            ("{/* a */ \"a\": 1}", json!({"a": 1})),
        ] {
            assert_eq!(value(text), expected, "{text}");
            assert_ne!(read(text).unwrap().fixes, Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn ambiguous_json_is_rejected_with_position() {
        for (text, expected) in [
            ("{\"a\": \"say \"hi\" now\"}", "line 1, column 13: expected a comma or `}`, found `h`"),
            ("{\n  \"a\": \"x\n", "line 2, column 8: unterminated string"),
            ("{\"a\": 18446744073709551616}", "line 1, column 7: `18446744073709551616` is too large"),
            ("{\"a\": NaN}", "line 1, column 7: `NaN` is not a JSON value"),
            ("{\"a\": two words}", "line 1, column 7: strings need quotation marks"),
            ("{\"a\" 1}", "line 1, column 6: expected `:`"),
            ("{\"a\": 1} x", "line 1, column 10: unexpected text after the JSON value"),
            ("{\"a\": 1", "line 1, column 8: expected `}`, found the end of the text"),
            ("{\"a\": 01}", "line 1, column 7: `01` is not a JSON number"),
            ("", "line 1, column 1: expected a value, found the end of the text"),
        ] {
            let found = error(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
        assert!(error(&"[".repeat(200)).contains("nested deeper than 128 levels"));
    }
}
