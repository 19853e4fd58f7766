//! The least an agent of `output: text` can be: `trivial-command ROLE` prints an answer of 1 KB with the role's output
//! in its frontmatter. Its prompt waits on stdin and is left there.

use std::io::{Result, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// With what an answer has besides, it is 1 KB long.
const BODY_BYTES: usize = 970;

fn main() -> Result<()> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let next = if std::env::args().nth(1).as_deref() == Some("writer") { "reviewer" } else { "writer" };
    let body = "x".repeat(BODY_BYTES);
    std::io::stdout().write_all(format!("---\nnext: {next}\nn: {micros}\n---\n\n{body}\n").as_bytes())
}
