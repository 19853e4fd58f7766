//! The keys of a shared store and of Temporal, and how one process of uwf hands them to the next.
//!
//! A person gives them to uwf as variables. From there they go from process to process of uwf through a pipe, so that nothing that uwf
//! starts has them in its environment, among its arguments, or in a file. A process that has them is closed to others of the same
//! user: they can neither read its memory nor its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use uwf_core::config::{StoreUrl, is_store_key, is_temporal_key};

use crate::root::home::Home;

/// Says to a process of uwf that the first line of its stdin has keys.
const SENT_VARIABLE: &str = "UWF_KEYS_ON_STDIN";

/// The variable by which a process knows that it is part of an attempt.
const ATTEMPT_VARIABLE: &str = "UWF_ATTEMPT";

/// Most bytes of a line with keys: more than an environment can have.
const MAX_LINE: u64 = 4 << 20;

/// What was handed to this process.
static RECEIVED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// The variables of this process, with the keys that were handed to it.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let received = RECEIVED.get().into_iter().flatten().map(|(name, value)| (name.into(), value.into()));
    std::env::vars_os().filter(|(name, _)| name != SENT_VARIABLE).chain(received)
}

/// The same as far as they are text.
pub(crate) fn text_variables() -> impl Iterator<Item = (String, String)> {
    variables().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Whether keys were handed to this process: it is part of uwf, and runs nothing that an agent chose.
pub fn are_received() -> bool {
    RECEIVED.get().is_some()
}

/// Whether a variable is kept from whatever uwf starts for an agent: keys of the store that a root uses, and of Temporal.
fn is_kept(url: Option<&StoreUrl>, name: &str) -> bool {
    is_temporal_key(name) || url.is_some_and(|url| url.key_variables().contains(&name))
}

/// The names of the variables that are kept from agents beside the configured secrets: those that have a value, here or in `.env`.
pub(crate) fn names(home: &Home, env_file: &[(String, String)]) -> Vec<String> {
    let url = home.shared().and_then(|shared| shared.url());
    let known = text_variables().chain(env_file.iter().cloned()).map(|(name, _)| name);
    let mut names: Vec<String> = known.filter(|name| is_kept(url, name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Closes this process to others of the same user if its environment holds a key: from now on only an administrator can read its
/// memory, its environment and its descriptors.
///
/// A process of an attempt stays open. It has no keys but those that its agent was given, and must be found by its environment.
pub fn close_if_keyed() {
    if std::env::var_os(ATTEMPT_VARIABLE).is_some() {
        return;
    }
    let is_key = |name: &OsStr| name.to_str().is_some_and(|name| is_store_key(name) || is_temporal_key(name));
    if std::env::vars_os().any(|(name, value)| !value.is_empty() && is_key(&name)) {
        close();
    }
}

fn close() {
    #[cfg(target_os = "linux")]
    {
        // It cannot fail for a process itself. Should it all the same, the process is as open as before.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

/// Keys for a process of uwf that is about to be started.
pub(crate) struct Handover {
    /// One line; `None` where no store is shared and there are no keys.
    line: Option<Vec<u8>>,
}

impl Handover {
    /// The keys of the store that a root uses, and those of Temporal.
    pub(crate) fn of(home: &Home) -> Handover {
        let url = home.shared().and_then(|shared| shared.url());
        let keys: BTreeMap<String, String> = text_variables().filter(|(name, _)| is_kept(url, name)).collect();
        if url.is_none() && keys.is_empty() {
            return Handover { line: None };
        }
        let mut line = serde_json::to_vec(&keys).expect("texts are JSON");
        line.push(b'\n');
        Handover { line: Some(line) }
    }

    /// Readies a command of uwf: its environment has no keys, and they will come through its stdin. Call [`Handover::send`] once it is
    /// started.
    pub(crate) fn prepare(home: &Home, command: &mut Command) -> Handover {
        let url = home.shared().and_then(|shared| shared.url());
        for (name, _) in text_variables().filter(|(name, _)| is_kept(url, name)) {
            command.env_remove(name);
        }
        let handover = Handover::of(home);
        command.env_remove(SENT_VARIABLE).stdin(Stdio::null());
        handover.through_stdin(command);
        handover
    }

    /// The same for a command whose environment is made elsewhere.
    pub(crate) fn through_stdin(&self, command: &mut Command) {
        if self.line.is_some() {
            command.env(SENT_VARIABLE, "1").stdin(Stdio::piped());
        }
    }

    /// Sends the keys to the process. Gives its stdin, which has nothing else to say; `None` where there are no keys to send.
    ///
    /// # Errors
    /// When it is gone already.
    pub(crate) fn send(&self, child: &mut Child) -> io::Result<Option<ChildStdin>> {
        let (Some(line), Some(mut stdin)) = (&self.line, child.stdin.take()) else { return Ok(None) };
        stdin.write_all(line)?;
        Ok(Some(stdin))
    }
}

/// Takes the keys that were sent to this process, if it was told that they are. It is closed to others before it reads them.
pub fn receive_if_sent() {
    if std::env::var_os(SENT_VARIABLE).is_none() {
        return;
    }
    let line = first_line(&mut io::stdin().lock().take(MAX_LINE));
    let keys: BTreeMap<String, String> = serde_json::from_slice(&line).unwrap_or_default();
    // A second time there would be nothing to read.
    let _ = RECEIVED.set(keys);
}

/// A line without its end, and not a byte more. Before anything is read, the process is closed to others.
fn first_line(source: &mut impl Read) -> Vec<u8> {
    close();
    let mut line = Vec::new();
    let mut byte = [0];
    while matches!(source.read(&mut byte), Ok(1)) && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    line
}
