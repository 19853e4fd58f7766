//! A thread that is being begun. Its record is there before its head is, so whoever is killed in between leaves the record
//! of a thread there never was. Until it has a head its record has nothing but settings, and is locked while the command
//! lives: that tells it from a thread the index has lost.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use durable_files::regular;
use json_cas::{Hash, Swap};
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::Settings;
use crate::attempt::worktree::{self, NewWorktree};
use crate::error::{AtPath, Error, ErrorCause, Result, is_damage};
use crate::root::history;
use crate::root::home::Home;
use crate::root::{record, workplace};
use crate::thread::digest;

/// What the record of a thread says when its head is set.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Line {
    Begun,
}

/// Begins a thread: its settings, its worktree if it gets one, then its head. What was not begun leaves no record.
///
/// # Errors
/// Those of settings and index, of git.
pub(crate) fn begin(
    home: &Home,
    thread: &ThreadId,
    head: Hash,
    settings: &Settings,
    worktree: Option<&NewWorktree>,
) -> Result<Swap> {
    begin_in(home, thread, head, settings, worktree, &record::open_or_create(home, thread)?)
}

/// The same with an id that was chosen: somebody may have begun the thread, may be at it, or was killed at it.
///
/// # Errors
/// As [`begin`].
pub(crate) fn begin_chosen(
    home: &Home,
    thread: &ThreadId,
    head: Hash,
    settings: &Settings,
    worktree: Option<&NewWorktree>,
) -> Result<Swap> {
    let path = home.record_file(thread);
    loop {
        let file = record::open_or_create(home, thread)?;
        file.lock().at("lock", &path)?;
        if let Some(head) = home.heads().read(thread.as_str())? {
            return Ok(Swap::Moved(Some(head)));
        }
        if !never_began(home, thread)? {
            return Ok(Swap::Moved(None));
        }
        // Whoever gave the thread up meanwhile has removed the record.
        if is_at(&file, &path)? {
            discard_worktree(home, thread)?;
            return begin_in(home, thread, head, settings, worktree, &file);
        }
    }
}

/// Whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> Result<bool> {
    let opened = file.metadata().at("look at", path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => {
            let found = found.at("look at", path)?;
            Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino()))
        }
    }
}

fn begin_in(
    home: &Home,
    thread: &ThreadId,
    head: Hash,
    settings: &Settings,
    worktree: Option<&NewWorktree>,
    file: &File,
) -> Result<Swap> {
    let settings = with_digest(home, head, settings);
    let path = home.record_file(thread);
    let set_head = || -> Result<Swap> {
        file.lock().at("lock", &path)?;
        settings.write(home, thread, file)?;
        // Durable before the head is: from the record a lost index is made anew.
        file.sync_all().at("sync", &path)?;
        durable_files::sync_dir(&home.threads_dir())?;
        if let Some(worktree) = worktree {
            worktree.make(home, thread, head, &settings.workspace)?;
        }
        // A child thread works where its parent does.
        if settings.parent.is_none() {
            settings.workplace(head).tell(home, thread)?;
        }
        Ok(home.heads().create(thread.as_str(), head)?)
    };
    let begun = set_head();
    match begun {
        // Whether that is durable makes no difference as long as the index is there.
        Ok(Swap::Done) => drop(record::write(home, thread, file, &Line::Begun)),
        // A child thread that the index has lost is begun anew, and its record may tell of what was paid for.
        Ok(Swap::Moved(_)) | Err(_) if never_began(home, thread).unwrap_or(false) => {
            // With the record goes the knowledge of a worktree, so that stays if this does.
            if discard_worktree(home, thread).is_ok() {
                drop(fs::remove_file(path));
                // Left behind, it would tell of a thread whose head was lost.
                let _ = workplace::forget(home, thread);
            }
        }
        Ok(Swap::Moved(_)) | Err(_) => {}
    }
    begun
}

/// Puts a new record in the place of that of a thread whose head is about to be another, durably: what it says of attempts
/// is of the head before.
///
/// # Errors
/// `Io`.
pub(crate) fn begin_anew(home: &Home, thread: &ThreadId, head: Hash, settings: &Settings) -> Result<()> {
    let digest = digest::computed_at(home, head).ok();
    let settings = Settings { digest, ..settings.begun_at(head) };
    record::renew(home, thread, settings.text()?.as_bytes(), &Line::Begun)
}

/// The settings of a thread that begins at a head. At a StartNode its digest is made at once. At a step that nobody has
/// recorded a digest for, the whole history would have to be read, so that is left to the thread's first step. A node that
/// cannot be read does not keep a thread from beginning: its first step reports it.
fn with_digest(home: &Home, head: Hash, settings: &Settings) -> Settings {
    let digest = settings.digest.or_else(|| digest::at_start(home.store(), head).ok().flatten());
    Settings { digest, ..settings.begun_at(head) }
}

/// Whether the record of a thread says more than what it was to begin with, or might, being damaged.
///
/// # Errors
/// `Io` when that cannot be told.
pub(crate) fn has_begun(home: &Home, thread: &ThreadId) -> Result<bool> {
    match record::read(home, thread) {
        Err(error) if error.is_damage() => Ok(true),
        record => Ok(record::newest_first(&record?).filter_map(record::event).any(|event| event != "settings")),
    }
}

/// Whether a command is beginning a thread at this moment: it has no head yet, and its record is locked.
///
/// # Errors
/// `Io` when that cannot be told.
pub(crate) fn is_under_way(home: &Home, thread: &ThreadId) -> Result<bool> {
    if has_begun(home, thread)? {
        return Ok(false);
    }
    let path = home.record_file(thread);
    match regular::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::file("open", &path, error)),
        Ok(file) => Ok(matches!(file.try_lock(), Err(TryLockError::WouldBlock))),
    }
}

/// Threads whose commands were killed before they had a head, so long ago that nobody can be at it.
///
/// # Errors
/// Those of the records, index and history.
pub(crate) fn abandoned(home: &Home, age: Duration) -> Result<Vec<ThreadId>> {
    let mut found = Vec::new();
    for thread in home.recorded_threads()? {
        if held_if_abandoned(home, &thread, age)?.is_some() {
            found.push(thread);
        }
    }
    Ok(found)
}

/// Removes the record of a thread that [`abandoned`] found, unless somebody is at it by now.
///
/// # Errors
/// `Io`.
pub(crate) fn remove(home: &Home, thread: &ThreadId, age: Duration) -> Result<()> {
    let path = home.record_file(thread);
    match held_if_abandoned(home, thread, age)? {
        Some(_held) => {
            discard_worktree(home, thread)?;
            Ok(fs::remove_file(&path).at("remove", &path)?)
        }
        None => Ok(()),
    }
}

/// Takes away the worktree of a thread that never began: nobody has worked in it.
fn discard_worktree(home: &Home, thread: &ThreadId) -> Result<()> {
    match Settings::load(home, thread) {
        Ok(Some(Settings { worktree: Some(worktree), .. })) => Ok(worktree::discard(home, thread, &worktree)?),
        // One that is damaged was torn when it was written, and no worktree is made before it is durable.
        Ok(_) | Err(Error { cause: Some(ErrorCause::DamagedSettings), .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The locked record of a thread that nobody is beginning, and nobody has ever been at: one that was stepped has a lock.
fn held_if_abandoned(home: &Home, thread: &ThreadId, age: Duration) -> Result<Option<File>> {
    let path = home.record_file(thread);
    let file = match regular::open(&path) {
        // What is no file may stand in the place of a record that had steps, as a damaged one.
        Err(error) if is_damage(&error) => return Ok(None),
        other => other.at("open", &path)?,
    };
    let modified = file.metadata().and_then(|meta| meta.modified()).at("look at", &path)?;
    let is_old = modified.elapsed().is_ok_and(|elapsed| elapsed >= age);
    let lock = home.thread_lock(thread);
    let was_stepped = lock.try_exists().at("look at", &lock)?;
    let is_abandoned = is_old && !was_stepped && file.try_lock().is_ok() && never_began(home, thread)?;
    Ok(is_abandoned.then_some(file))
}

/// Whether nothing tells that a thread has ever begun: neither its record nor index nor history.
fn never_began(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(!has_begun(home, thread)?
        && home.heads().read(thread.as_str())?.is_none()
        && history::of(home, thread)?.is_none())
}
