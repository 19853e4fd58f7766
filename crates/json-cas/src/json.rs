//! Reads JSON text and rejects what a store could not return unchanged.
//!
//! Plain `serde_json` lets the last of two equal keys win and reports only positions. This reader rejects duplicate keys, lone surrogates
//! and numbers beyond the range of doubles, and reports the path.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::cbor::place;
use crate::pointer;

/// A text that is not acceptable JSON.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
#[error("bad JSON at line {line}, column {column}, in {}: {reason}", place(path))]
pub struct JsonError {
    /// JSON pointer of the value being read; empty for the root.
    pub path: String,
    /// Line, starting at 1.
    pub line: usize,
    /// Column in bytes, starting at 1; 0 directly after a line break.
    pub column: usize,
    /// The problem.
    pub reason: String,
}

/// Parses `text`. A leading byte order mark is skipped.
///
/// # Errors
/// [`JsonError`] for anything but one JSON value, for duplicate keys, lone surrogates, numbers beyond the range of doubles and nesting of
/// 128 levels.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut path = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read =
        JsonValueSeed { path: &mut path }.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| JsonError {
        path: path.concat(),
        line: error.line(),
        column: error.column(),
        reason: reason(&error),
    })
}

/// The message without `serde_json`'s own position.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// Reads one value. `path` has one `/segment` per enclosing container. It is left unchanged on an error, so that it names the place.
struct JsonValueSeed<'p> {
    path: &'p mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for JsonValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            self.path.push(format!("/{}", items.len()));
            let Some(item) = access.next_element_seed(JsonValueSeed { path: self.path })? else {
                self.path.pop();
                return Ok(Value::Array(items));
            };
            self.path.pop();
            items.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.path.push(pointer::join("", &key));
            if map.contains_key(&key) {
                return Err(A::Error::custom("the key occurs twice"));
            }
            let value = access.next_value_seed(JsonValueSeed { path: self.path })?;
            self.path.pop();
            map.insert(key, value);
        }
        Ok(Value::Object(map))
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
    fn what_is_refused_is_named_by_its_path() {
        assert_eq!(
            message("{\"a\":[{\"b/c\":1,\n\"b/c\":2}]}"),
            "bad JSON at line 2, column 5, in /a/0/b~1c: the key occurs twice"
        );
        assert_eq!(message("{\"a\":[1,1e400]}"), "bad JSON at line 1, column 13, in /a/1: number out of range");
        assert_eq!(message("[\"\\ud800x\"]"), "bad JSON at line 1, column 9, in /0: unexpected end of hex escape");
        assert_eq!(message("{\"a\":1} x"), "bad JSON at line 1, column 9, in the root: trailing characters");
    }

    #[test]
    fn endless_nesting_is_an_error() {
        let text = "[".repeat(100_000);
        let error = parse(&text).unwrap_err();
        assert_eq!(error.reason, "recursion limit exceeded");
    }
}
