//! Programs installed by a script of this repository, for tests that start servers.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::repository;

/// The directory of the programs that a script of `scripts/` installs. Runs the script first.
///
/// # Panics
/// If it fails.
pub fn programs(script: &str) -> PathBuf {
    let script = repository().join("scripts").join(script);
    let found = Command::new(&script).stderr(Stdio::inherit()).output().expect("a script of this repository");
    assert!(found.status.success(), "{} cannot install its programs: run it to see why", script.display());
    PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
}

/// Ports that were free a moment ago.
///
/// # Panics
/// If none are free.
pub fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}
