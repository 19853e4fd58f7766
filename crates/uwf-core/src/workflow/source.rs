//! Reads the text of a YAML or JSON file into a tree whose values know their places.
//!
//! Stricter than YAML where YAML guesses or explodes: one document, text keys, no duplicate keys, no tags but
//! the core ones, bounded size, depth and alias expansion.

use saphyr_parser::{Parser, ScanError};

use super::build::{Builder, Fatal, place};
use super::problem::{Position, Problems};
use super::source_json;
use super::tree::Node;

/// Bytes of one file. Workflow and config files are a few KB; a megabyte is somebody's log.
const MAX_BYTES: usize = 1024 * 1024;

/// Nesting of one file. Schemas people write stay below 20; everything that walks the tree recurses.
pub(super) const MAX_DEPTH: usize = 128;

/// Reads a whole file. `None` when it is not well formed or too big; then there is an error in `problems`.
pub(crate) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len());
        problems.error("too-big", Position::FIRST, message, None);
        return None;
    }
    match source_json::parse(text, problems.file()) {
        source_json::Outcome::Read(node, found) => {
            problems.append(found);
            Some(node)
        }
        source_json::Outcome::Broken(found) => {
            problems.append(found);
            None
        }
        source_json::Outcome::NotJson => parse_yaml(text, problems),
    }
}

fn parse_yaml(text: &str, problems: &mut Problems) -> Option<Node> {
    let mut builder = Builder::new(problems);
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => Err(syntax(&error, text)),
        };
        if let Err(Fatal { code, at, message, hint }) = step {
            problems.error(code, at, message, hint);
            return None;
        }
    }
    match builder.root {
        Some(root) if !root.is_null() => Some(root),
        Some(_) | None => {
            problems.error("empty-file", Position::FIRST, "the file is empty".to_owned(), None);
            None
        }
    }
}

fn syntax(error: &ScanError, text: &str) -> Fatal {
    let at = place(*error.marker());
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let indent = &line[..line.len() - line.trim_start().len()];
    let hint = if indent.contains('\t') {
        Some("indent with spaces; YAML does not allow tabs there")
    } else if error.info().contains("mapping values are not allowed") {
        Some("quote a text that contains `: `, or check the indentation")
    } else if error.info().contains("flow") {
        Some("inside `{ }` and `[ ]`, quote texts that contain any of `, [ ] { }`")
    } else if line.trim_start().starts_with(['@', '`', '%']) || error.info().contains("unexpected character") {
        Some("quote texts that start with a special character")
    } else {
        None
    };
    let message = format!("not valid YAML: {}", error.info());
    Fatal { code: "syntax", at, message, hint: hint.map(str::to_owned) }
}

/// The message about a key that stands in a mapping twice.
pub(super) fn duplicate(key: &str, first: Position) -> String {
    format!("the key `{key}` is here a second time; the first is at line {}", first.line)
}
