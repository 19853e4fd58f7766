//! The keys of a shared store and of Temporal, and how one process of uwf passes them to the next.
//!
//! A person gives them to uwf as variables. From there they go from one process of uwf to another through a socket. So no
//! program that uwf starts has them in its environment, its arguments or a file. A process that has them is closed to
//! others of the same user, which can read neither its memory nor its environment.
//!
//! A new process is open until it closes itself, so it says when it has, and is sent the keys only then. Another process
//! could take them out of a pipe before; a socket cannot be opened through `/proc`.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use uwf_core::config::{StoreUrl, is_temporal_key};

use crate::root::home::Home;
use crate::root::received_keys::{SENT_VARIABLE, text_variables};

/// How often to look whether a process that gets keys has ended.
const LOOK: Duration = Duration::from_millis(50);

/// How long a process may take until it is closed. It needs milliseconds; one that was stopped must not stop those that wait for it.
const TIME_LIMIT: Duration = Duration::from_mins(1);

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

    /// Prepares a command of uwf: removes keys from its environment, to send them through its stdin.
    ///
    /// # Errors
    /// When no socket can be made.
    pub(crate) fn prepare(home: &Home, command: &mut Command) -> io::Result<KeySender> {
        let url = home.store_url();
        for (name, _) in text_variables().filter(|(name, _)| is_kept(url, name)) {
            command.env_remove(name);
        }
        command.env_remove(SENT_VARIABLE).stdin(Stdio::null());
        KeyHandover::collect_keys(home).through_stdin(command)
    }

    /// Prepares a command whose environment is set elsewhere.
    ///
    /// # Errors
    /// When no socket can be made.
    pub(crate) fn through_stdin(&self, command: &mut Command) -> io::Result<KeySender> {
        let Some(line) = self.line.clone() else { return Ok(KeySender { sent: None }) };
        let (ours, theirs) = UnixStream::pair()?;
        command.env(SENT_VARIABLE, std::process::id().to_string()).stdin(OwnedFd::from(theirs));
        Ok(KeySender { sent: Some((line, ours)) })
    }
}

/// Keys on their way to a process.
#[must_use]
pub(crate) struct KeySender {
    /// The line, and this end of the process's stdin.
    sent: Option<(Vec<u8>, UnixStream)>,
}

impl KeySender {
    /// Sends the keys as soon as the process is closed to others. Returns the other end of its stdin, which carries nothing
    /// else; `None` without keys to send.
    ///
    /// # Errors
    /// When the process ended without taking them, or was not ready for them within a minute.
    pub(crate) fn send(self, child: &mut Child) -> io::Result<Option<UnixStream>> {
        let Some((line, mut stream)) = self.sent else { return Ok(None) };
        // The command still holds the other end, so the end of the process is no end of the stream.
        stream.set_read_timeout(Some(LOOK))?;
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            match stream.read(&mut [0]) {
                Ok(1) => break,
                Ok(_) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    if child.try_wait()?.is_some() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                    if Instant::now() >= deadline {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        stream.write_all(&line)?;
        Ok(Some(stream))
    }
}
