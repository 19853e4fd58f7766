//! `thread rm`: a finished thread leaves the listings. Its nodes stay.

use std::io::ErrorKind;
use std::path::Path;

use uwf_core::thread::ThreadId;

use crate::error::{Error, Kind, Result};
use crate::history;
use crate::home::Home;
use crate::marks::{self, Mark};
use crate::rebuild;

/// Removes a finished thread: its line leaves the history, its local records the disk. No node is deleted.
///
/// # Errors
/// `Usage` when it is active, `NotFound` when there is no such thread.
pub fn remove(home: &Home, id: &ThreadId) -> Result<()> {
    if home.heads().read(id.as_str())?.is_some() {
        return Err(Error::new(Kind::Usage, format!("thread {id} is active"))
            .hint(format!("`uwf thread kill {id}` ends it first")));
    }
    if history::of(home, id)?.is_none() {
        return Err(rebuild::not_found(home, id));
    }
    marks::clear(home, id, &Mark::ALL)?;
    for path in [home.thread_dir(id), home.chain_file(id)] {
        let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("remove", &path, error));
            }
            _ => {}
        }
    }
    // The line goes last, when no record is left that a rebuilt index would bring the thread back from.
    sync_dir(&home.threads_dir())?;
    home.heads().forget(id.as_str())?;
    Ok(())
}

fn sync_dir(dir: &Path) -> Result<()> {
    match json_cas::durable::sync_dir(dir) {
        Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(()),
        other => Ok(other?),
    }
}
