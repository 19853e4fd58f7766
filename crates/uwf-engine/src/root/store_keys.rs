//! The keys of a shared store and of Temporal, and how one process of uwf passes them to the next.
//!
//! A person gives them to uwf as variables. From there they go from one process of uwf to another through a pipe. So no
//! program that uwf starts has them in its environment, its arguments or a file. A process that has them is closed to
//! others of the same user, which can read neither its memory nor its environment.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use uwf_core::config::{StoreUrl, is_temporal_key};

use crate::root::home::Home;
use crate::root::received_keys::{SENT_VARIABLE, text_variables};

/// Whether uwf withholds a variable from everything it starts for an agent: keys of the root's store, and of Temporal.
fn is_kept(url: Option<&StoreUrl>, name: &str) -> bool {
    is_temporal_key(name) || url.is_some_and(|url| url.key_variables().contains(&name))
}

/// Names of the variables that are withheld from agents besides the configured secrets: those that are set, here or in
/// `.env`.
pub(crate) fn names(home: &Home, env_file: &[(String, String)]) -> Vec<String> {
    let url = home.store_url();
    let known = text_variables().chain(env_file.iter().cloned()).map(|(name, _)| name);
    let mut names: Vec<String> = known.filter(|name| is_kept(url, name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Keys for a process of uwf that is about to be started.
pub(crate) struct KeyHandover {
    /// One line; `None` without a shared store and keys.
    line: Option<Vec<u8>>,
}

impl KeyHandover {
    /// Keys of the root's store and of Temporal.
    pub(crate) fn collect_keys(home: &Home) -> KeyHandover {
        let url = home.store_url();
        let keys: BTreeMap<String, String> = text_variables().filter(|(name, _)| is_kept(url, name)).collect();
        if url.is_none() && keys.is_empty() {
            return KeyHandover { line: None };
        }
        let mut line = serde_json::to_vec(&keys).expect("texts are JSON");
        line.push(b'\n');
        KeyHandover { line: Some(line) }
    }

    /// Prepares a command of uwf: removes keys from its environment, to send them through its stdin. Call
    /// [`KeyHandover::send`] after starting it.
    pub(crate) fn prepare(home: &Home, command: &mut Command) -> KeyHandover {
        let url = home.store_url();
        for (name, _) in text_variables().filter(|(name, _)| is_kept(url, name)) {
            command.env_remove(name);
        }
        let handover = KeyHandover::collect_keys(home);
        command.env_remove(SENT_VARIABLE).stdin(Stdio::null());
        handover.through_stdin(command);
        handover
    }

    /// Passes the keys to a command whose environment is set elsewhere.
    pub(crate) fn through_stdin(&self, command: &mut Command) {
        if self.line.is_some() {
            command.env(SENT_VARIABLE, std::process::id().to_string()).stdin(Stdio::piped());
        }
    }

    /// Sends the keys to the process. Returns its stdin, which carries nothing else; `None` without keys to send.
    ///
    /// # Errors
    /// When the process is already gone.
    pub(crate) fn send(&self, child: &mut Child) -> io::Result<Option<ChildStdin>> {
        let (Some(line), Some(mut stdin)) = (&self.line, child.stdin.take()) else { return Ok(None) };
        stdin.write_all(line)?;
        Ok(Some(stdin))
    }
}
