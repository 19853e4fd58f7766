//! Dotted paths of keys.

use std::fmt;
use std::str::FromStr;

/// A path of keys: `agents.coder.command`. A key that contains a dot is quoted: `models."gpt-4.1".name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// A key between two dots, or at an end, is empty.
    #[error("`{0}` has an empty key")]
    EmptyKey(String),
    /// A quote is not closed, or is followed by text.
    #[error("`{0}` has a quote that does not enclose a whole key")]
    Quote(String),
}

impl KeyPath {
    /// The keys. Only the path of a whole file has none.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The last key.
    #[must_use]
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The path of `key` in the value at `parent`; `None` is the whole file.
    #[must_use]
    pub fn below(parent: Option<&KeyPath>, key: &str) -> KeyPath {
        let parts = parent.map(|parent| parent.0.as_slice()).unwrap_or_default();
        KeyPath(parts.iter().cloned().chain([key.to_owned()]).collect())
    }

    /// A path of these keys, whatever characters they contain. Without keys it means the whole file, which can only be read.
    #[must_use]
    pub fn from_keys<S: AsRef<str>>(parts: &[S]) -> KeyPath {
        KeyPath(parts.iter().map(|part| part.as_ref().to_owned()).collect())
    }
}

impl FromStr for KeyPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<KeyPath, BadPath> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(|| BadPath::Quote(text.to_owned()))?,
                None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            if part.is_empty() {
                return Err(BadPath::EmptyKey(text.to_owned()));
            }
            parts.push(part.to_owned());
            match after.strip_prefix('.') {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(KeyPath(parts)),
                None => return Err(BadPath::Quote(text.to_owned())),
            }
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            if part.contains('.') || part.is_empty() {
                write!(f, "{dot}\"{part}\"")?;
            } else {
                write!(f, "{dot}{part}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_is_printed() {
        for (text, parts) in [
            ("a", vec!["a"]),
            ("agents.coder.command", vec!["agents", "coder", "command"]),
            ("models.\"gpt-4.1\".name", vec!["models", "gpt-4.1", "name"]),
            ("\"a.b\"", vec!["a.b"]),
        ] {
            let path: KeyPath = text.parse().unwrap();
            assert_eq!(
                (path.parts().to_vec(), path.to_string()),
                (parts.iter().map(|p| (*p).to_owned()).collect(), text.to_owned())
            );
        }
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for text in ["", ".", "a.", ".a", "a..b", "\"\"", "\"a", "\"a\"b"] {
            assert!(text.parse::<KeyPath>().is_err(), "{text}");
        }
    }
}
