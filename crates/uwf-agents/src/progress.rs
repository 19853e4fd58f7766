//! What an agent says of itself while it works: lines on stderr, which people watch live, which are kept with a failed
//! attempt, and whose growth shows the keeper that the agent is alive.

use std::io::Write;

use uwf_core::text::{beginning, one_line};

/// Bytes of one event that are printed.
const MAX_LINE: usize = 300;

/// The beginning of a text, in one line: people read it in passing.
pub(crate) fn excerpt(text: &str) -> String {
    let start = beginning(text, MAX_LINE);
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", one_line(start))
}

/// Prints an event, one line.
pub fn line(text: &str) {
    // Nobody may be reading; an agent does not fail for want of an audience.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Passes on a piece of a text as it comes.
pub fn piece(bytes: &[u8]) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}
