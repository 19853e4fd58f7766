//! Workflow names: `registry.yaml` maps each name to a hash and its earlier hashes.
//!
//! In a shared store, the same text is a node, and a head named `registry` points to it.

mod in_file;
mod in_head;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use serde::Serialize;

pub(crate) use self::in_head::traced;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::home::NamesPlace;

/// The head that names the registry of a shared store. No thread has this name: ids have 26 symbols.
pub(crate) const SHARED: &str = "registry";

/// Hashes kept in a name's history. People roll back a version or two, never a hundred so far.
const HISTORY_LIMIT: usize = 100;

/// Hint for lost names.
pub(crate) const NAMES_ARE_LOST: &str =
    "the workflows are in the store (`uwf cas list --type Workflow`); `uwf workflow put FILE` names one again";

/// The workflow of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistryEntry {
    /// The workflow.
    pub hash: NodeHash,
    /// When it got the name, Unix milliseconds.
    pub timestamp: u64,
    /// Earlier workflows of the name, newest first.
    pub history: Vec<FormerWorkflow>,
}

/// An earlier workflow of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormerWorkflow {
    /// The workflow.
    pub hash: NodeHash,
    /// When it got the name, Unix milliseconds.
    pub timestamp: u64,
}

/// All names.
pub type Registry = BTreeMap<String, RegistryEntry>;

/// Reads the registry; falls back to the registry of an older store.
///
/// # Errors
/// `Data` when the file is not readable, `Io`; errors of a shared store.
pub fn read(home: &Home) -> Result<Registry> {
    match home.peers().names_place() {
        NamesPlace::File => in_file::read(home),
        NamesPlace::Head => Ok(in_head::read(home)?.0),
    }
}

/// The place from which the names are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingRegistry {
    /// This file.
    File(PathBuf),
    /// The head of this shared store.
    Head(String),
}

impl fmt::Display for MissingRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingRegistry::File(path) => write!(f, "{} is gone", path.display()),
            MissingRegistry::Head(store) => write!(f, "the head `{SHARED}` of the store {store} is gone"),
        }
    }
}

impl MissingRegistry {
    /// How to fix it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            MissingRegistry::File(_) => NAMES_ARE_LOST,
            MissingRegistry::Head(_) => "`uwf recover` sets it again; `uwf recover --dry-run` shows how",
        }
    }
}

/// The place of a registry that is gone: it is missing although a process has written one, or was about to.
pub(crate) fn gone(home: &Home) -> Result<Option<MissingRegistry>> {
    match home.peers().names_place() {
        NamesPlace::File => in_file::gone(home),
        NamesPlace::Head => in_head::gone(home),
    }
}

/// Changes the registry, one writer at a time. `change` returns the caller's result; it is called again if another
/// machine was quicker.
///
/// # Errors
/// `Busy` when others change it for too long, the error of `change`, `Io`; errors of a shared store.
pub fn update<T, E: From<Error>>(home: &Home, change: impl FnMut(&mut Registry) -> Result<T, E>) -> Result<T, E> {
    match home.peers().names_place() {
        NamesPlace::File => in_file::update(home, change),
        NamesPlace::Head => in_head::update(home, change),
    }
}

/// Gives a name to a workflow, and adds the name's previous workflow to its history.
pub fn name(registry: &mut Registry, name: &str, hash: NodeHash, now_ms: u64) {
    let Some(entry) = registry.get_mut(name) else {
        registry.insert(name.to_owned(), RegistryEntry { hash, timestamp: now_ms, history: Vec::new() });
        return;
    };
    if entry.hash == hash {
        return;
    }
    entry.history.retain(|past| past.hash != hash);
    entry.history.insert(0, FormerWorkflow { hash: entry.hash, timestamp: entry.timestamp });
    entry.history.truncate(HISTORY_LIMIT);
    entry.hash = hash;
    entry.timestamp = now_ms;
}

/// Returns a name to an earlier hash, by default the newest in its history. The two hashes swap places.
///
/// # Errors
/// `NotFound` when the name, or the hash in its history, does not exist.
pub fn roll_back(
    registry: &mut Registry,
    workflow: &str,
    to: Option<NodeHash>,
    now_ms: u64,
) -> Result<(NodeHash, NodeHash)> {
    let entry = registry
        .get_mut(workflow)
        .ok_or_else(|| Error::not_found(format!("workflow `{workflow}` is not in the registry")))?;
    let from = entry.hash;
    let target = match to {
        Some(hash) if hash == from => return Ok((from, from)),
        Some(hash) => entry.history.iter().find(|past| past.hash == hash).map(|past| past.hash),
        None => entry.history.first().map(|past| past.hash),
    };
    let target = target.ok_or_else(|| {
        let version = to.map_or("no earlier version".to_owned(), |hash| format!("no version {hash} in its history"));
        Error::not_found(format!("workflow `{workflow}` has {version}"))
            .hint(format!("`uwf workflow history {workflow}` lists the versions that exist"))
    })?;
    name(registry, workflow, target, now_ms);
    Ok((from, target))
}

fn busy(lock: &Path) -> Error {
    Error::busy(format!("another process holds {}", lock.display())).hint("try again")
}
