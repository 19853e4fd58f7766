//! Reads an index in any YAML form. Every scalar keeps its text, so a hash of digits stays as written.

use std::collections::BTreeMap;
use std::path::Path;

use yaml_tree::{SyntaxError, YamlContent};

use crate::hash::{HashError, NodeHash};
use crate::heads::{HeadsError, is_name};

/// Names and hashes in a file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, NodeHash>, HeadsError> {
    let unreadable = |(line, reason)| HeadsError::Unreadable { path: path.to_owned(), line, reason };
    entries(bytes).map_err(unreadable)
}

/// The faulty line, if there is one, and the reason.
type Unreadable = (Option<usize>, String);

fn entries(bytes: &[u8]) -> Result<BTreeMap<String, NodeHash>, Unreadable> {
    if bytes.iter().all(|byte| matches!(byte, 0 | b' ' | b'\n' | b'\r')) {
        return Err((None, "the file has no content, as after a crash".to_owned()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| (None, "not UTF-8 text".to_owned()))?;
    let root = yaml_tree::parse(text).map_err(|SyntaxError { at, message, .. }| (Some(at.line), message))?;
    let root = root.ok_or((None, "the file has no content".to_owned()))?;
    if !matches!(root.data, YamlContent::Mapping(_)) {
        return Err((Some(root.at.line), "a map of names to hashes is expected".to_owned()));
    }
    let mut index = BTreeMap::new();
    for entry in root.entries() {
        let (name, line) = (&entry.key, Some(entry.key_at.line));
        if !is_name(name.as_bytes()) {
            return Err((line, format!("`{name}` cannot be a name")));
        }
        if index.contains_key(name) {
            return Err((line, format!("the name `{name}` occurs twice")));
        }
        let line = Some(entry.value.at.line);
        let Some(text) = entry.value.as_written() else {
            return Err((line, format!("the hash of `{name}` is expected, not a list or a map")));
        };
        let hash = text.parse().map_err(|error: HashError| (line, error.to_string()))?;
        index.insert(name.clone(), hash);
    }
    Ok(index)
}
