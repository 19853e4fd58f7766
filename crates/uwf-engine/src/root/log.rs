//! The log of a thread: one JSON line per call, `{tag, level, content, timestamp}`.
//!
//! A tag is eight Crockford symbols that name one call site permanently, so that a line in any log identifies its code.
//! The `log!` macro checks its form at compile time; a test checks that no two sites share a tag.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use durable_files::regular;
use serde::{Deserialize, Serialize};

/// Severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// An event.
    Info,
    /// A person may want to look at this.
    Warn,
    /// Something failed.
    Error,
}

/// A log file. Writing never fails the caller: a log is worth less than the run it describes.
#[derive(Debug)]
pub struct LogFile {
    file: Option<File>,
}

#[derive(Serialize)]
struct LogFileLine<'a> {
    tag: &'a str,
    level: LogLevel,
    content: &'a str,
    timestamp: u64,
}

impl LogFile {
    /// Opens a log for appending; if that fails, lines are dropped.
    pub fn open(path: &Path) -> LogFile {
        LogFile { file: regular::open_with(OpenOptions::new().create(true).append(true), path).ok() }
    }

    /// Writes one line. Called through `log!`.
    pub fn line(&self, tag: &str, level: LogLevel, content: &str) {
        let Some(mut file) = self.file.as_ref() else { return };
        let line = LogFileLine { tag, level, content, timestamp: crate::root::ids::now_ms() };
        if let Ok(mut text) = serde_json::to_string(&line) {
            text.push('\n');
            // A full disk must not stop a run because of its log.
            let _ = file.write_all(text.as_bytes());
        }
    }
}

/// Whether a text is a valid tag.
pub(crate) const fn valid_tag(tag: &str) -> bool {
    let bytes = tag.as_bytes();
    if bytes.len() != 8 {
        return false;
    }
    let mut index = 0;
    while index < bytes.len() {
        let symbol = bytes[index];
        let letter = symbol.is_ascii_uppercase() && !matches!(symbol, b'I' | b'L' | b'O' | b'U');
        if !symbol.is_ascii_digit() && !letter {
            return false;
        }
        index += 1;
    }
    true
}

/// Logs one line: `log!(log, "TAG00000", Info, "format {}", …)`.
macro_rules! log {
    ($log:expr, $tag:literal, $level:ident, $($content:tt)+) => {{
        const { assert!($crate::root::log::valid_tag($tag), "a log tag is eight Crockford symbols") }
        $log.line($tag, $crate::root::log::LogLevel::$level, &format!($($content)+));
    }};
}
pub(crate) use log;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn tags_have_their_form() {
        assert!(valid_tag("0A1B2C3D"));
        for tag in ["", "0A1B2C3", "0A1B2C3DE", "0A1B2C3I", "0a1b2c3d"] {
            assert!(!valid_tag(tag), "{tag}");
        }
    }

    #[test]
    fn no_two_call_sites_share_a_tag() {
        let mut sites: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let text = std::fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let Some((_, rest)) = line.split_once("log!(") else { continue };
                let Some(tag) = rest.split('"').nth(1).filter(|tag| valid_tag(tag)) else { continue };
                sites.entry(tag.to_owned()).or_default().push(format!("{}:{}", path.display(), number + 1));
            }
        }
        // The example in the macro's own documentation.
        sites.remove("TAG00000");
        assert!(sites.len() >= 3, "the scan found only {} call sites", sites.len());
        let shared: Vec<_> = sites.iter().filter(|(_, places)| places.len() > 1).collect();
        assert!(shared.is_empty(), "shared tags: {shared:?}");
    }
    /// All files below a directory.
    fn sources(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }
}
