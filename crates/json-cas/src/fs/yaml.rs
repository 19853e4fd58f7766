//! The index in any YAML form, read event by event so that every scalar keeps its text: a hash of
//! digits stays what was written, and nothing nested is ever built.

use std::collections::HashSet;
use std::path::Path;

use saphyr_parser::{Event, Parser, ScanError};

use crate::hash::{Hash, HashError};
use crate::heads::{HeadsError, is_name};

/// Names and hashes in the order of the file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Hash)>, HeadsError> {
    entries(bytes).map_err(|Unreadable { line, reason }| HeadsError::Unreadable { path: path.to_owned(), line, reason })
}

struct Unreadable {
    line: Option<usize>,
    reason: String,
}

impl Unreadable {
    fn file(reason: &str) -> Unreadable {
        Unreadable { line: None, reason: reason.to_owned() }
    }

    fn at(line: usize, reason: impl Into<String>) -> Unreadable {
        Unreadable { line: Some(line), reason: reason.into() }
    }
}

impl From<ScanError> for Unreadable {
    fn from(error: ScanError) -> Unreadable {
        Unreadable::at(error.marker().line(), error.info())
    }
}

fn entries(bytes: &[u8]) -> Result<Vec<(String, Hash)>, Unreadable> {
    if bytes.iter().all(|byte| matches!(byte, 0 | b' ' | b'\n' | b'\r')) {
        return Err(Unreadable::file("the file has no content, as after a crash"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::file("not UTF-8 text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut events = Parser::new_from_str(text);
    let mut next = move || match events.next_event() {
        Some(event) => event.map_err(Unreadable::from),
        None => Err(Unreadable::file("the file ends too early")),
    };
    loop {
        let (event, span) = next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::MappingStart(..) => break,
            _ => {
                let reason = "a map of names to hashes is expected";
                return Err(Unreadable::at(span.start.line(), reason));
            }
        }
    }
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    loop {
        let (event, span) = next()?;
        let line = span.start.line();
        let name = match event {
            Event::MappingEnd => break,
            Event::Scalar(name, ..) => name.into_owned(),
            _ => return Err(Unreadable::at(line, "a name is expected")),
        };
        if !is_name(name.as_bytes()) {
            return Err(Unreadable::at(line, format!("`{name}` cannot be a name")));
        }
        if !names.insert(name.clone()) {
            return Err(Unreadable::at(line, format!("the name `{name}` occurs twice")));
        }
        let (event, span) = next()?;
        let line = span.start.line();
        let Event::Scalar(text, ..) = event else {
            let reason = format!("the hash of `{name}` is expected, not a list or a map");
            return Err(Unreadable::at(line, reason));
        };
        let hash = text.parse().map_err(|error: HashError| Unreadable::at(line, error.to_string()))?;
        entries.push((name, hash));
    }
    loop {
        let (event, span) = next()?;
        match event {
            Event::StreamEnd => return Ok(entries),
            Event::DocumentEnd | Event::Nothing => {}
            _ => return Err(Unreadable::at(span.start.line(), "a second document")),
        }
    }
}
