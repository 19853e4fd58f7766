//! The tokens of a session from the agent's export, for an agent whose replies have only the counts of its last model call.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use uwf_core::node::TokenCounts;

use crate::trace::opencode;

/// Largest export that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// Time between two looks for its end.
const LOOK: Duration = Duration::from_millis(20);

/// The tokens of the model calls of a session since a time, Unix milliseconds, from `COMMAND export SESSION`; `None` if no call has counts.
/// The export may take as long as `patience`.
///
/// # Errors
/// Why the export cannot be read.
pub(super) fn tokens_since(
    command: Command,
    session: &str,
    since_ms: u64,
    patience: Duration,
) -> Result<Option<TokenCounts>, String> {
    let text = export(command, session, patience).map_err(|error| error.to_string())?;
    let export: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(opencode::tokens_since(&export, since_ms))
}

fn export(mut command: Command, session: &str, patience: Duration) -> io::Result<String> {
    // Into a file: it does not print all of a long session into a pipe.
    let mut printed = tempfile::tempfile()?;
    command.args(["export", session]).stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() < patience => std::thread::sleep(LOOK),
            None => {
                child.kill().and_then(|()| child.wait()).map(drop)?;
                return Err(io::Error::other(format!("it took more than {} s", patience.as_secs())));
            }
        }
    };
    if !status.success() {
        return Err(io::Error::other(format!("`export` ended with {status}")));
    }
    read(&mut printed)
}

fn read(printed: &mut File) -> io::Result<String> {
    printed.rewind()?;
    let mut text = String::new();
    let length = printed.take(LARGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LARGEST { Err(io::Error::other("it is too large")) } else { Ok(text) }
}
