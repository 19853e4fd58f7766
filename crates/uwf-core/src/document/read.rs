//! Parses a file to its tree, and is stricter than YAML where YAML guesses: no duplicate keys, no tags outside the core schema,
//! bounded size.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use yaml_tree::{MappingEntry, SyntaxError, TextPosition, YamlContent, YamlNode};

use super::problem::ProblemCollector;

/// Bytes of one file. Workflow and config files have a few KB; a megabyte is more likely a log.
const MAX_BYTES: usize = 1024 * 1024;

/// The code of a file without a value.
pub const EMPTY_FILE: &str = "empty-file";

/// Parses a whole file. `None` if it is malformed, empty or too big; `problems` then has an error.
pub(crate) fn parse(text: &str, problems: &mut ProblemCollector) -> Option<YamlNode> {
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len());
        problems.error("too-big", TextPosition::FIRST, message, None);
        return None;
    }
    match as_written(text, problems.file()) {
        Ok(Some(mut root)) if !root.is_null() => {
            settle(&mut root, problems);
            Some(root)
        }
        Ok(_) => {
            problems.error(EMPTY_FILE, TextPosition::FIRST, "the file is empty".to_owned(), None);
            None
        }
        Err(SyntaxError { at, code, message, hint }) => {
            problems.error(code, at, message, hint.map(str::to_owned));
            None
        }
    }
}

/// The tree of a file before duplicate keys and merges are resolved; `None` if the file is empty.
pub(crate) fn as_written(text: &str, file: &str) -> Result<Option<YamlNode>, SyntaxError> {
    let named = |language: &str, error: SyntaxError| match error.code {
        "syntax" => SyntaxError { message: format!("not valid {language}: {}", error.message), ..error },
        _ => error,
    };
    let named_json = file.to_ascii_lowercase().ends_with(".json");
    let mut start = text.trim_start_matches('\u{feff}').trim_start().chars();
    let opens = matches!(start.next(), Some('{' | '['));
    if text.trim_matches('\u{feff}').trim().is_empty() {
        return Ok(None);
    }
    if opens || named_json {
        match yaml_tree::parse_json(text) {
            Ok(root) => return Ok(Some(root)),
            // `{` may also open a YAML flow mapping, whose keys need no quotes.
            Err(_) if !named_json && !start.as_str().trim_start().starts_with('"') => {}
            Err(error) => return Err(named("JSON", error)),
        }
    }
    yaml_tree::parse(text).map_err(|error| named("YAML", error))
}

/// Whether a text has no value: it is empty or has only comments.
#[must_use]
pub fn has_no_content(text: &str) -> bool {
    // Lines end as in YAML, which includes a lone CR.
    let mut lines = text.trim_start_matches('\u{feff}').split(['\n', '\r']).map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

/// A value as JSON. Numbers that nodes lack (`.inf`, `.nan`, 36893488147419103233) are reported and become null.
pub(crate) fn to_json(node: &YamlNode, problems: &mut ProblemCollector) -> Value {
    node.to_json(&mut |at, text| {
        problems.error(
            "bad-number",
            at,
            format!("`{text}` can't be kept as a number"),
            Some("quote it if it is a text".to_owned()),
        );
    })
}

/// Reports duplicate keys and keeps the first, reports unknown tags, and applies `<<` merges.
fn settle(node: &mut YamlNode, problems: &mut ProblemCollector) {
    check_tag(node, problems);
    match &mut node.data {
        YamlContent::Scalar { .. } => {}
        YamlContent::Sequence(items) => items.iter_mut().for_each(|item| settle(item, problems)),
        YamlContent::Mapping(entries) => {
            let mut keys: HashMap<String, TextPosition> = HashMap::new();
            let mut merges = Vec::new();
            for mut entry in std::mem::take(entries) {
                settle(&mut entry.value, problems);
                if entry.key == "<<" {
                    merges.push(entry.value);
                } else if let Some(TextPosition { line, .. }) = keys.get(&entry.key) {
                    let message = format!("the key `{}` is here a second time; the first is at line {line}", entry.key);
                    problems.error("duplicate-key", entry.key_at, message, None);
                } else {
                    keys.insert(entry.key.clone(), entry.key_at);
                    entries.push(entry);
                }
            }
            let mut own: HashSet<String> = keys.into_keys().collect();
            for merged in merges {
                merge(entries, &mut own, merged, problems);
            }
        }
    }
}

/// Adds the keys of `<<` that the mapping does not have yet.
fn merge(
    entries: &mut Vec<MappingEntry>,
    own: &mut HashSet<String>,
    merged: YamlNode,
    problems: &mut ProblemCollector,
) {
    match merged.data {
        YamlContent::Mapping(more) => {
            entries.extend(more.into_iter().filter(|entry| own.insert(entry.key.clone())));
        }
        YamlContent::Sequence(items) if items.iter().all(|item| matches!(item.data, YamlContent::Mapping(_))) => {
            for item in items {
                merge(entries, own, item, problems);
            }
        }
        YamlContent::Sequence(_) | YamlContent::Scalar { .. } => {
            let message = "`<<` takes a mapping or a list of mappings".to_owned();
            problems.error("bad-merge", merged.at, message, None);
        }
    }
}

fn check_tag(node: &YamlNode, problems: &mut ProblemCollector) {
    let Some(tag) = node.tag.as_ref().filter(|_| !node.alias) else { return };
    let is_scalar = matches!(node.data, YamlContent::Scalar { .. });
    let known = match tag.core.as_deref() {
        Some("str" | "int" | "float" | "bool" | "null") => is_scalar,
        Some("seq" | "map") => !is_scalar,
        Some(_) | None => false,
    };
    if !known {
        let hint = "quote the text if the `!` belongs to it".to_owned();
        problems.error("tag", node.at, format!("the tag `{}` means nothing here", tag.text), Some(hint));
    }
}
