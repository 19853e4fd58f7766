//! A thread that is being begun. Its records are there before its head is, so whoever is killed in between leaves the
//! directory of a thread there never was. A file in it, locked while its command lives, tells that from a thread the index
//! has lost.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use json_cas::{Hash, Swap};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result};
use crate::history;
use crate::home::Home;
use crate::settings::Settings;

/// Begins a thread: its settings, then its head. What was not begun leaves no records.
///
/// # Errors
/// Those of settings and index.
pub(crate) fn begin(home: &Home, thread: &ThreadId, head: Hash, settings: &Settings) -> Result<Swap> {
    let path = note(&home.make_thread_dir(thread)?);
    let note = File::create(&path).at("create", &path)?;
    let begun = note.lock().at("lock", &path).and_then(|()| {
        settings.begun_at(head).write(home, thread)?;
        // Synced together with the index, before it takes its place: one commit of the file system less.
        let [own, all] = Settings::dirs(home, thread);
        home.heads_files().create(thread.as_str(), head, &[&own, &all]).map_err(Error::from)
    });
    match begun {
        // Of a thread that has a head the file says nothing more.
        Ok(Swap::Done) => drop(fs::remove_file(&path)),
        Ok(Swap::Moved(_)) | Err(_) if is_none(home, thread).unwrap_or(false) => {
            drop(fs::remove_dir_all(home.thread_dir(thread)));
        }
        Ok(Swap::Moved(_)) | Err(_) => {}
    }
    begun
}

/// Threads whose commands were killed before they had a head, so long ago that nobody can be at it.
///
/// # Errors
/// Those of the directory of threads, index and history.
pub(crate) fn abandoned(home: &Home, age: Duration) -> Result<Vec<ThreadId>> {
    let dir = home.threads_dir();
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.at("list", &dir)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.at("list", &dir)?.file_name();
        let Some(thread) = name.to_str().and_then(|name| name.parse::<ThreadId>().ok()) else { continue };
        if is_noted(home, &thread) && is_abandoned(home, &thread, age)? {
            found.push(thread);
        }
    }
    Ok(found)
}

/// Removes the records of a thread that [`abandoned`] found.
///
/// # Errors
/// `Io`.
pub(crate) fn remove(home: &Home, thread: &ThreadId) -> Result<()> {
    let dir = home.thread_dir(thread);
    fs::remove_dir_all(&dir).at("remove", &dir)
}

/// Whether the directory of a thread says that it is being begun.
pub(crate) fn is_noted(home: &Home, thread: &ThreadId) -> bool {
    note(&home.thread_dir(thread)).exists()
}

/// Whether nobody is at it, and nobody has ever been: a thread that was stepped has a lock.
fn is_abandoned(home: &Home, thread: &ThreadId, age: Duration) -> Result<bool> {
    let path = note(&home.thread_dir(thread));
    let file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.at("open", &path)?,
    };
    let modified = file.metadata().and_then(|meta| meta.modified()).at("look at", &path)?;
    let is_old = modified.elapsed().is_ok_and(|elapsed| elapsed >= age);
    Ok(is_old && file.try_lock().is_ok() && !home.thread_lock(thread).exists() && is_none(home, thread)?)
}

/// Whether neither index nor history has a thread.
fn is_none(home: &Home, thread: &ThreadId) -> Result<bool> {
    let is_active = home.heads().read(thread.as_str())?.is_some();
    Ok(!is_active && history::of(home, thread)?.is_none())
}

fn note(dir: &Path) -> PathBuf {
    dir.join("beginning")
}
