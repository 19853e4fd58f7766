//! Progress of an agent: lines on stderr. People watch them live, a failed attempt keeps them, and their growth shows the keeper that the
//! agent is alive.

use std::io::Write;

use uwf_core::text::{beginning, one_line};

/// Bytes printed of one event.
const MAX_LINE: usize = 300;

/// The beginning of a text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let start = beginning(text, MAX_LINE);
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", one_line(start))
}

/// Prints an event, one line.
pub fn line(text: &str) {
    // The reader may be gone; the agent must not fail for that reason.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Passes on a piece of a text as it arrives.
pub fn piece(bytes: &[u8]) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}
