//! Git records of the files of removed threads. A record is deleted together with the node it belongs to. While that node exists, a
//! thread that shares it, or a person who has its hash, can start a fork with its files.
//!
//! Only threads removed from this storage root are examined. Other storage roots may have threads in the same repository.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::snapshot;
use crate::error::{AtPath, Result};
use crate::root::history;
use crate::root::home::Home;

/// Deletes refs whose nodes are gone, or counts them if `dry_run` is set; `goes` says whether a node is about to be removed. Returns how
/// many. If a repository cannot be examined, its refs stay until the next time.
pub(crate) fn sweep(home: &Home, goes: &dyn Fn(NodeHash) -> bool, dry_run: bool) -> Result<usize> {
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

/// Removed threads for whose files git may have refs.
fn removed(home: &Home) -> Result<Vec<ThreadId>> {
    let dir = home.worktrees_dir();
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.path_context("list", &dir)?,
    };
    let mut threads = Vec::new();
    for entry in entries {
        let name = entry.path_context("list", &dir)?.file_name();
        threads.extend(name.to_str().and_then(Home::thread_of_refs_left));
    }
    if threads.is_empty() {
        return Ok(threads);
    }
    // A thread that is being removed is still in the history.
    let ended: HashSet<ThreadId> = history::all(home)?.into_iter().map(|line| line.thread).collect();
    let mut unknown = Vec::new();
    for thread in threads {
        if !ended.contains(&thread) && home.heads().read(thread.as_str())?.is_none() {
            unknown.push(thread);
        }
    }
    Ok(unknown)
}
