//! Reads JSON text as a value and rejects what a value would not return unchanged.
//!
//! Plain `serde_json` lets the last of two equal keys win, rounds numbers without a word, and reports only positions. This reader rejects
//! duplicate keys, lone surrogates and numbers whose digits get lost, and reports the path.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::json;
use crate::node::{TextPosition, YamlContent, YamlNode, YamlScalarStyle};
use crate::scalar::keeps_digits;

/// A text that is not acceptable JSON.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct JsonError {
    /// JSON pointer of the value that is refused; empty for the root, and for a text that is not JSON.
    pub path: String,
    /// Place in the text.
    pub at: TextPosition,
    /// The problem.
    pub reason: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonError { path, at, reason } = self;
        write!(f, "bad JSON at line {}, column {}", at.line, at.column)?;
        if !path.is_empty() {
            write!(f, ", in {path}")?;
        }
        write!(f, ": {reason}")
    }
}

impl std::error::Error for JsonError {}

/// Parses `text`. A leading byte order mark is skipped.
///
/// # Errors
/// [`JsonError`] for anything but one JSON value, for duplicate keys, lone surrogates, numbers whose digits a [`Number`] can't hold, and values nested
/// deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let refused = |error: crate::SyntaxError| JsonError { path: String::new(), at: error.at, reason: error.message };
    let root = json::parse(text).map_err(refused)?;
    value(&root, &mut String::new())
}

/// The value of a node; `path` is its JSON pointer.
fn value(node: &YamlNode, path: &mut String) -> Result<Value, JsonError> {
    let length = path.len();
    match &node.data {
        YamlContent::Scalar { text, style: YamlScalarStyle::Plain } => word(text).ok_or_else(|| {
            let reason = format!("the number {text} can't be kept exactly: give a shorter one, or a text");
            JsonError { path: path.clone(), at: node.at, reason }
        }),
        YamlContent::Scalar { text, .. } => Ok(Value::String(text.clone())),
        YamlContent::Sequence(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("/{index}"));
                values.push(value(item, path)?);
                path.truncate(length);
            }
            Ok(Value::Array(values))
        }
        YamlContent::Mapping(entries) => {
            let mut fields = Map::with_capacity(entries.len());
            for entry in entries {
                path.push_str(&format!("/{}", entry.key.replace('~', "~0").replace('/', "~1")));
                if fields.contains_key(&entry.key) {
                    let reason = "the key occurs twice".to_owned();
                    return Err(JsonError { path: path.clone(), at: entry.key_at, reason });
                }
                fields.insert(entry.key.clone(), value(&entry.value, path)?);
                path.truncate(length);
            }
            Ok(Value::Object(fields))
        }
    }
}

/// The value of `null`, `true`, `false` or a number; `None` for a number that would change.
fn word(text: &str) -> Option<Value> {
    match text {
        "null" => Some(Value::Null),
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        digits => {
            let number: Number = serde_json::from_str(digits).ok()?;
            let is_kept = !number.is_f64() || number.as_f64().is_some_and(|float| keeps_digits(digits, float));
            is_kept.then_some(Value::Number(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_what_serde_json_reads() {
        let text = "\u{feff} {\"a\": [1, -2, 0.5, 1e21, true, null, \"\\ud83d\\ude00\"], \"b\": {}}";
        assert_eq!(parse(text).unwrap(), json!({"a": [1, -2, 0.5, 1e21, true, null, "😀"], "b": {}}));
    }

    #[test]
    fn rejected_values_are_named_by_path() {
        for (text, refusal) in [
            ("{\"a\":[{\"b/c\":1,\n\"b/c\":2}]}", "line 2, column 1, in /a/0/b~1c: the key occurs twice"),
            ("{\"a\":[1,1e400]}", "line 1, column 9: `1e400` is not a value; quote it if it is a text"),
            ("[\"\\ud800x\"]", "line 1, column 2: a text that is not valid: unexpected end of hex escape"),
            ("{\"a\":1} x", "line 1, column 9: found `x` where the end should be"),
            (
                "[{\"id\": 36893488147419103233}]",
                "line 1, column 9, in /0/id: the number 36893488147419103233 can't be kept exactly: give a shorter one, or a text",
            ),
        ] {
            assert_eq!(message(text), format!("bad JSON at {refusal}"));
        }
    }

    #[test]
    fn digits_are_kept_or_refused() {
        for kept in
            ["9007199254740993", "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e300"]
        {
            assert!(parse(kept).is_ok(), "{kept}");
        }
        for kept in ["0.1", "0.12345678901234567890", "-0.0", "0", "0e5"] {
            assert!(parse(kept).is_ok(), "{kept}");
        }
        for lost in ["18446744073709551617", "12345678901234567890123", "9007199254740993.0", "-9223372036854775809"] {
            assert!(parse(lost).is_err(), "{lost}");
        }
    }

    #[test]
    fn endless_nesting_is_an_error() {
        let text = "[".repeat(100_000);
        assert_eq!(parse(&text).unwrap_err().reason, "nested deeper than 128 levels");
    }
}
