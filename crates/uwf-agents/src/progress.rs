//! What an agent says of itself while it works: lines on stderr, which people watch live, which are kept with a failed
//! attempt, and whose growth tells the keeper that the agent is alive.

use std::io::Write;

/// Bytes of one event that are told.
pub(crate) const MAX_LINE: usize = 300;

/// Tells an event, one line.
pub fn line(text: &str) {
    // Nobody may be reading; an agent does not fail for want of an audience.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Passes on a piece of a text as it comes.
pub fn piece(bytes: &[u8]) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}
