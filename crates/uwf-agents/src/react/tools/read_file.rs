//! `read_file`

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, ReactTool, ReactToolContext, typed};

/// Default number of lines.
const DEFAULT_LINES: usize = 2000;

/// Bytes returned at once: some 16,000 tokens. A note says where to continue.
const MAX_BYTES: usize = 64 << 10;

/// Bytes of a file searched for the requested lines.
const MAX_SCANNED: u64 = 256 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFileArguments {
    path: String,
    #[serde(default = "first_line")]
    offset: usize,
    #[serde(default = "default_lines")]
    limit: usize,
}

fn first_line() -> usize {
    1
}

fn default_lines() -> usize {
    DEFAULT_LINES
}

/// Reads lines of a file.
pub(super) const READ_FILE: ReactTool = ReactTool {
    name: "read_file",
    description: "Reads a text file of the workspace, or some of its lines. A last line in brackets names the lines \
                  that were left out.",
    parameters,
    run,
};

fn parameters() -> Value {
    super::arguments(
        &json!({
            "path": { "type": "string", "description": "relative to the workspace" },
            "offset": { "type": "integer", "minimum": 1, "description": "first line, counted from 1" },
            "limit": { "type": "integer", "minimum": 1, "description": "how many lines; 2000 when left out" },
        }),
        &["path"],
    )
}

fn run(scene: &ReactToolContext<'_>, arguments: &Map<String, Value>) -> Answer {
    let ReadFileArguments { path, offset, limit } = typed(arguments)?;
    let file = scene.workspace.read(&path)?;
    let broken = |error: std::io::Error| format!("cannot read `{path}`: {error}");
    let size = file.metadata().map_err(broken)?.len();
    let mut lines = BufReader::new(file.take(MAX_SCANNED));
    let window = window(&mut lines, offset.max(1), limit.max(1)).map_err(broken)?;
    if window.bytes.contains(&0) {
        return Err(format!("`{path}` is not a text ({size} bytes)"));
    }
    let mut text = String::from_utf8_lossy(&window.bytes).into_owned();
    if window.lines == 0 && offset > 1 {
        return Err(format!("`{path}` has {} lines; line {offset} is not there", window.first - 1));
    }
    if let Some(note) = window.note(size) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    }
    Ok(text)
}

/// Some lines of a file.
struct ReadFileWindow {
    bytes: Vec<u8>,
    /// Number of the first line returned; past the end, one more than the file's number of lines.
    first: usize,
    lines: usize,
    /// Whether the last line was cut because it did not fit.
    cut: bool,
    more: bool,
}

impl ReadFileWindow {
    fn note(&self, size: u64) -> Option<String> {
        if self.cut {
            let line = self.first + self.lines - 1;
            return Some(format!("[line {line} is longer than this; the file has {size} bytes]"));
        }
        let last = self.first + self.lines - 1;
        self.more.then(|| {
            format!("[lines {} to {last} of a file of {size} bytes; continue with offset {}]", self.first, last + 1)
        })
    }
}

fn window(lines: &mut impl BufRead, offset: usize, limit: usize) -> std::io::Result<ReadFileWindow> {
    let mut skipped = 0;
    while skipped + 1 < offset {
        if lines.skip_until(b'\n')? == 0 {
            return Ok(ReadFileWindow { bytes: Vec::new(), first: skipped + 1, lines: 0, cut: false, more: false });
        }
        skipped += 1;
    }
    let mut shown = ReadFileWindow { bytes: Vec::new(), first: offset, lines: 0, cut: false, more: false };
    while shown.lines < limit && shown.bytes.len() < MAX_BYTES {
        let left = MAX_BYTES - shown.bytes.len();
        let mut line = Vec::new();
        let read = lines.by_ref().take(left as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(shown);
        }
        let whole = line.ends_with(b"\n") || lines.fill_buf()?.is_empty();
        if !whole && shown.lines > 0 {
            // The next read returns it whole.
            break;
        }
        shown.bytes.extend(line);
        shown.lines += 1;
        shown.cut = !whole;
        if shown.cut {
            return Ok(shown);
        }
    }
    shown.more = shown.cut || !lines.fill_buf()?.is_empty() || shown.lines < limit && shown.bytes.len() >= MAX_BYTES;
    Ok(shown)
}
