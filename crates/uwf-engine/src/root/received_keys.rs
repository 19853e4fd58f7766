//! Keys that this process received: `store_keys` describes how.

use crate::attempt_variable::ATTEMPT_VARIABLE;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::sync::OnceLock;

use uwf_core::config::{is_store_key, is_temporal_key};
use uwf_platform::host;

/// Announces to a process of uwf that the first line of its stdin has keys. The value is the sender's process id,
/// because child processes inherit the variable and must not take their own stdin for keys.
pub(super) const SENT_VARIABLE: &str = "UWF_KEYS_ON_STDIN";

/// Most bytes of a line with keys: more than an environment can hold.
const MAX_LINE: u64 = 4 << 20;

/// Keys that this process received.
static RECEIVED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// The variables of this process, and the keys that it received.
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let received = RECEIVED.get().into_iter().flatten().map(|(name, value)| (name.into(), value.into()));
    std::env::vars_os().filter(|(name, _)| name != SENT_VARIABLE).chain(received)
}

/// Like [`variables`], as far as they are text.
pub(crate) fn text_variables() -> impl Iterator<Item = (String, String)> {
    variables().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Whether this process received keys: it is part of uwf, and runs nothing that an agent chose.
pub(crate) fn are_received() -> bool {
    RECEIVED.get().is_some()
}

/// Closes this process to others of the same user if its environment holds a key: from then on only an administrator
/// can read its memory, its environment and its descriptors.
///
/// A process of an attempt stays open. It has no keys other than its agent's, and must be found by its environment.
pub fn close_if_keyed() {
    if std::env::var_os(ATTEMPT_VARIABLE).is_some() {
        return;
    }
    let is_key = |name: &OsStr| name.to_str().is_some_and(|name| is_store_key(name) || is_temporal_key(name));
    if std::env::vars_os().any(|(name, value)| !value.is_empty() && is_key(&name)) {
        host().close_to_others();
    }
}

/// Receives the keys that were sent to this process, if they were announced. Closes the process to others before
/// reading them.
pub fn receive_if_sent() {
    let sender = std::env::var(SENT_VARIABLE).ok().and_then(|sender| sender.parse::<i32>().ok());
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
    if sender.is_none() || sender != parent {
        return;
    }
    let line = first_line(&mut io::stdin().lock().take(MAX_LINE));
    let keys: BTreeMap<String, String> = serde_json::from_slice(&line).unwrap_or_default();
    // A second call has nothing to read.
    let _ = RECEIVED.set(keys);
}

/// A line without its end, and not a byte more. Closes the process to others, and says so to the sender, before reading.
fn first_line(source: &mut impl Read) -> Vec<u8> {
    host().close_to_others();
    // Without it the sender sends nothing, and waits for the end of this process.
    let _ = rustix::io::write(io::stdin(), b"\n");
    let mut line = Vec::new();
    let mut byte = [0];
    while matches!(source.read(&mut byte), Ok(1)) && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    line
}
