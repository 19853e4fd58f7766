//! Edits the text of a config file: one value changes, and every other byte stays, including comments, order and blank lines.
//!
//! The parser finds the place of each value, the text is spliced there, and the result is parsed again. An edit that would change anything
//! else is rejected. The splicing can therefore be simple. A YAML form that it does not understand (an anchor used elsewhere, say) causes a
//! clear error, never a damaged file.
//!
//! Don't use the crate `yamlpatch`. Version 1.24 was tried on the cases of our tests. It turns JSON into YAML, and adds LF lines to a CR LF
//! file. It rejects an empty file and a key without a value. In `{ a: 1, b: 2 }` a new value for `a` removes `b`. It does not check that
//! the rest is unchanged, and its parser differs from uwf's, so a file could mean one thing to the edit and another to uwf.

mod path;
mod remove;
mod splice;
mod tree;
mod value;
mod write;

use serde_json::{Map, Value};

pub use path::{BadPath, KeyPath};
pub use value::{BadValue, value};

use crate::document::{FileProblem, SourceDocument, has_no_content};
use tree::EditTree;

/// Why a text was not edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is unreadable.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Unreadable(Vec<FileProblem>),
    /// The path crosses a value that has no keys.
    #[error("line {line}: `{at}` is {found}, which has no keys")]
    NotAMapping {
        /// The part of the path before that value.
        at: String,
        /// Its line, from 1.
        line: usize,
        /// The kind of that value, with its article.
        found: &'static str,
    },
    /// The text can't be edited without changing something else.
    #[error("line {line}: `{at}` is written in a way that cannot be edited without changing something else")]
    Entangled {
        /// The path.
        at: String,
        /// The nearest line, from 1.
        line: usize,
    },
}

/// Every path in a value. The path of a mapping comes before the paths in it.
pub fn paths(value: &Value) -> Vec<KeyPath> {
    below(value, None)
}

fn below(value: &Value, at: Option<&KeyPath>) -> Vec<KeyPath> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .flat_map(|(key, value)| {
            let path = KeyPath::below(at, key);
            let more = below(value, Some(&path));
            std::iter::once(path).chain(more)
        })
        .collect()
}

/// The value of a file, null for an empty one.
///
/// # Errors
/// [`EditError::Unreadable`] with every problem.
pub fn values(text: &str, origin: &str) -> Result<Value, EditError> {
    if has_no_content(text) {
        return Ok(Value::Null);
    }
    SourceDocument::parse(text, origin).map(|document| document.value).map_err(EditError::Unreadable)
}

/// The text with `value` at `path`. Missing parents are created. `origin` is the file's name in problems.
///
/// A mapping or list is written in flow style (`[a, b]`). Comments inside a replaced mapping or list are lost.
///
/// # Errors
/// [`EditError`]; a list in the path has no keys.
pub fn set(text: &str, origin: &str, path: &KeyPath, value: &Value) -> Result<String, EditError> {
    let before = values(text, origin)?;
    // The value is already set, however it is written.
    if get(&before, path) == Some(value) {
        return Ok(text.to_owned());
    }
    let tree = EditTree::read(text, origin);
    let edited = splice::set(&tree, path, value)?;
    let mut expected = before;
    put(&mut expected, path.parts(), value);
    verified(edited, origin, &expected, || entangled(&tree, path))
}

/// The text without the key at `path` and the comment on its line; `None` if the key is missing. A mapping that loses its last key becomes
/// null.
pub fn unset(text: &str, origin: &str, path: &KeyPath) -> Result<Option<String>, EditError> {
    let mut expected = values(text, origin)?;
    if get(&expected, path).is_none() {
        return Ok(None);
    }
    let tree = EditTree::read(text, origin);
    let edited = remove::remove(&tree, path).ok_or_else(|| entangled(&tree, path))?;
    take(&mut expected, path.parts());
    verified(edited, origin, &expected, || entangled(&tree, path)).map(Some)
}

/// The value at a path; a number picks an item of a list.
#[must_use]
pub fn get<'v>(value: &'v Value, path: &KeyPath) -> Option<&'v Value> {
    path.parts().iter().try_fold(value, |value, part| match value {
        Value::Object(map) => map.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Every path to a value without keys, with that value, in the file's order.
#[must_use]
pub fn leaves(value: &Value) -> Vec<(KeyPath, &Value)> {
    fn collect<'v>(at: Option<KeyPath>, value: &'v Value, found: &mut Vec<(KeyPath, &'v Value)>) {
        match (value, at) {
            (Value::Object(map), at) if !map.is_empty() => {
                for (key, value) in map {
                    collect(Some(KeyPath::below(at.as_ref(), key)), value, found);
                }
            }
            (_, Some(at)) => found.push((at, value)),
            (_, None) => {}
        }
    }
    let mut found = Vec::new();
    collect(None, value, &mut found);
    found
}

fn entangled(tree: &EditTree<'_>, path: &KeyPath) -> EditError {
    EditError::Entangled { at: path.to_string(), line: tree.nearest_line(path.parts()) }
}

/// The edited text, if it parses to the expected value.
fn verified(
    edited: String,
    origin: &str,
    expected: &Value,
    otherwise: impl FnOnce() -> EditError,
) -> Result<String, EditError> {
    match values(&edited, origin) {
        Ok(found) if found == *expected => Ok(edited),
        Ok(_) | Err(_) => Err(otherwise()),
    }
}

fn put(into: &mut Value, parts: &[String], value: &Value) {
    let Some((first, rest)) = parts.split_first() else {
        value.clone_into(into);
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Value::Object(map) = into {
        put(map.entry(first.as_str()).or_insert(Value::Null), rest, value);
    }
}

fn take(from: &mut Value, parts: &[String]) {
    let (Some((first, rest)), Value::Object(map)) = (parts.split_first(), &mut *from) else { return };
    if rest.is_empty() {
        map.shift_remove(first);
    } else if let Some(below) = map.get_mut(first) {
        take(below, rest);
    }
    if map.is_empty() {
        *from = Value::Null;
    }
}
