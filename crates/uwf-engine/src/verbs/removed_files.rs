//! What git has recorded of the files of threads that were removed. It goes when the nodes go that it belongs to: as long as one of
//! them is there, a thread that shares it, or whoever has its hash, can begin a fork with its files.
//!
//! Only threads that were removed here are looked at. Other storage roots may have threads in the same repository.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::snapshot;
use crate::error::{AtPath, Result};
use crate::root::history;
use crate::root::home::Home;

/// Deletes the refs whose nodes are gone, or with `dry_run` counts them; `goes` says whether a node is about to be removed. Returns
/// how many there were. A repository that cannot be looked at keeps them until the next time.
///
/// # Errors
/// Those of the index, the history and the store.
pub(crate) fn sweep(home: &Home, goes: &dyn Fn(Hash) -> bool, dry_run: bool) -> Result<usize> {
    let mut swept = 0;
    for thread in removed(home)? {
        let Ok(refs) = snapshot::refs_left(home, &thread) else { continue };
        let mut gone = Vec::new();
        for (name, node) in &refs {
            if goes(*node) || !home.store().has(*node)? {
                gone.push(name.clone());
            }
        }
        let is_last = gone.len() == refs.len();
        if dry_run || snapshot::delete_left(home, &thread, &gone, is_last).is_ok() {
            swept += gone.len();
        }
    }
    Ok(swept)
}

/// The threads that were removed, and of whose files git may have something.
fn removed(home: &Home) -> Result<Vec<ThreadId>> {
    let dir = home.worktrees_dir();
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.at("list", &dir)?,
    };
    let mut threads = Vec::new();
    for entry in entries {
        let name = entry.at("list", &dir)?.file_name();
        threads.extend(name.to_str().and_then(Home::thread_of_refs_left));
    }
    if threads.is_empty() {
        return Ok(threads);
    }
    // One that is being removed is still in the history.
    let ended: HashSet<ThreadId> = history::all(home)?.into_iter().map(|line| line.thread).collect();
    let mut unknown = Vec::new();
    for thread in threads {
        if !ended.contains(&thread) && home.heads().read(thread.as_str())?.is_none() {
            unknown.push(thread);
        }
    }
    Ok(unknown)
}
