//! `thread rm`: a finished thread leaves the listings. Its nodes stay.

use std::io;
use std::path::Path;

use uwf_core::thread::ThreadId;

use crate::attempt::worktree::Removed;
use crate::error::{AtPath, Result, VerbError};
use crate::root::history;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, Mark};
use crate::root::missing_thread;
use crate::root::sharing;
use crate::verbs::worktrees;

/// Tries to remove a directory in which a window that looked when the thread was still active makes a file meanwhile.
const REMOVE_TRIES: usize = 20;

/// Removes a finished thread: its line leaves the history, its local records the disk. No node is deleted. Its worktree goes too,
/// if nothing in it is uncommitted, or `discard` says so.
///
/// # Errors
/// `Usage` when it is active, or its worktree has uncommitted changes, `NotFound` when there is no such thread, `Busy` when its last keeper is still at work.
pub fn remove(home: &Home, id: &ThreadId, discard: bool) -> Result<Option<Removed>> {
    if home.heads().read(id.as_str())?.is_some() {
        return Err(VerbError::Active(id.clone()).into());
    }
    if history::of(home, id)?.is_none() {
        return Err(missing_thread::not_found(home, id).into());
    }
    sharing::check(home, id)?;
    // Its keeper may be at its last lines, and nobody is to begin a step in what goes away.
    let _lock = lock::take(home, id)?;
    let removed = worktrees::remove(home, id, discard)?;
    marks::clear(home, id, &Mark::ALL)?;
    for path in [home.thread_dir(id), home.chain_file(id), home.record_file(id)] {
        remove_all(&path).at("remove", &path)?;
    }
    // The line goes last, when no record is left that a rebuilt index would bring the thread back from.
    sync_dir(&home.threads_dir())?;
    home.journal().forget(id.as_str())?;
    Ok(removed)
}

/// Removes a file or a whole directory, if it is there.
fn remove_all(path: &Path) -> std::io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && tries < REMOVE_TRIES => {}
            other => return other,
        }
    }
}

fn sync_dir(dir: &Path) -> Result<()> {
    match durable_files::sync_dir(dir) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(other?),
    }
}
