//! The request to the last process before the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The rights that the process gives up.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct InsideRequest {
    /// The files that remain, if no other mechanism decides on them.
    pub(super) files: Option<FileRules>,
    /// The sockets that remain.
    pub(super) sockets: SocketRule,
    /// Whether it can no longer reach processes and abstract sockets outside.
    pub(super) scope: bool,
    /// Socket of the proxy, to which a port of its own network leads.
    #[serde(default)]
    pub(super) proxy: Option<PathBuf>,
}

/// The files that a program reaches.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FileRules {
    /// To read and execute.
    pub(super) read: Vec<PathBuf>,
    /// To change.
    pub(super) write: Vec<PathBuf>,
    /// Devices, to read and write.
    pub(super) devices: Vec<PathBuf>,
}

/// The sockets that a program can open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SocketRule {
    /// None.
    #[default]
    None,
    /// Sockets of the network, but no local ones: Landlock lets a program use every local socket that it finds.
    NoLocal,
    /// All, in a network of its own.
    OwnNetwork,
    /// All, in the network of the machine.
    OpenNetwork,
}
