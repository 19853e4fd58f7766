//! A thread that is being begun. Its records are there before its head is, so whoever is killed in between leaves the
//! directory of a thread there never was. Until it has a head its settings have another name, and are locked while the
//! command lives: that tells it from a thread the index has lost.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::time::Duration;

use json_cas::{Hash, Swap};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result};
use crate::history;
use crate::home::Home;
use crate::settings::{Settings, make_record, read_if_there};

/// Begins a thread: its settings, then its head. What was not begun leaves no records.
///
/// # Errors
/// Those of settings and index.
pub(crate) fn begin(home: &Home, thread: &ThreadId, head: Hash, settings: &Settings) -> Result<Swap> {
    let dir = home.make_thread_dir(thread)?;
    let path = home.beginning_file(thread);
    let mut file = File::create_new(&path).at("create", &path)?;
    let begun = file.lock().at("lock", &path).and_then(|()| {
        make_record(home, thread)?;
        // Nobody reads them before there is a head. A new name now would be one more commit of the file system's journal.
        file.write_all(&settings.begun_at(head).text()).at("write", &path)?;
        json_cas::durable::begin_writing(&file);
        // Synced together with the index, before it takes its place, which saves another.
        home.heads_files().create(thread.as_str(), head, &[&path, &dir, &home.threads_dir()]).map_err(Error::from)
    });
    match begun {
        // Until that is durable, or where it fails, they are read under their old name.
        Ok(Swap::Done) => drop(fs::rename(&path, home.settings_file(thread))),
        Ok(Swap::Moved(_)) | Err(_) if is_none(home, thread).unwrap_or(false) => drop(fs::remove_dir_all(dir)),
        Ok(Swap::Moved(_)) | Err(_) => {}
    }
    begun
}

/// The settings of a thread that is being begun, or whose command was killed when it had hardly begun it; `None` when
/// there are none, or not all of them yet.
///
/// # Errors
/// `Io` when they cannot be read.
pub(crate) fn settings(home: &Home, thread: &ThreadId) -> Result<Option<Settings>> {
    let text = read_if_there(&home.beginning_file(thread))?;
    Ok(text.and_then(|text| Settings::parse(&text).ok()))
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
    home.beginning_file(thread).exists()
}

/// Whether nobody is at it, and nobody has ever been: a thread that was stepped has a lock.
fn is_abandoned(home: &Home, thread: &ThreadId, age: Duration) -> Result<bool> {
    let path = home.beginning_file(thread);
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
