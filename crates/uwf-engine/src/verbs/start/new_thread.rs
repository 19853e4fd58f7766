//! A thread that is being started. Its record is written before its head, so a killed command can leave the record of a thread that never
//! started. Until the thread has a head, its record contains only settings and is locked while the command runs. The lock distinguishes
//! it from a thread that the index has lost.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use durable_files::regular;
use json_cas::{NodeHash, SwapOutcome};
use serde::Serialize;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::ThreadSettings;
use crate::attempt::worktree::{self, NewWorktree};
use crate::error::{AtPath, Error, ErrorCause, Result, is_damage};
use crate::root::history;
use crate::root::home::Home;
use crate::root::{record, workplace};
use crate::thread::digest;

/// Line in the record of a thread once its head is set.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum NewThreadLine {
    Begun,
}

/// Starts a thread: writes its settings, creates its worktree if it gets one, then sets its head. Leaves no record if that fails.
pub(crate) fn begin(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    worktree: Option<&NewWorktree>,
) -> Result<SwapOutcome> {
    begin_in(home, thread, head, settings, worktree, &record::open_or_create(home, thread)?)
}

/// Starts a thread with a chosen id: another process may have started the thread, may be starting it, or may have been killed while
/// starting it.
pub(crate) fn begin_chosen(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    worktree: Option<&NewWorktree>,
) -> Result<SwapOutcome> {
    let path = home.record_file(thread);
    loop {
        let file = record::open_or_create(home, thread)?;
        file.lock().path_context("lock", &path)?;
        if let Some(head) = home.heads().read(thread.as_str())? {
            return Ok(SwapOutcome::Moved(Some(head)));
        }
        if !never_began(home, thread)? {
            return Ok(SwapOutcome::Moved(None));
        }
        // A process that gave the thread up meanwhile has removed the record.
        if is_at(&file, &path)? {
            discard_worktree(home, thread)?;
            return begin_in(home, thread, head, settings, worktree, &file);
        }
    }
}

/// Whether an open file is the file at a path.
fn is_at(file: &File, path: &Path) -> Result<bool> {
    let opened = file.metadata().path_context("look at", path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => {
            let found = found.path_context("look at", path)?;
            Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino()))
        }
    }
}

fn begin_in(
    home: &Home,
    thread: &ThreadId,
    head: NodeHash,
    settings: &ThreadSettings,
    worktree: Option<&NewWorktree>,
    file: &File,
) -> Result<SwapOutcome> {
    let settings = with_digest(home, head, settings);
    let path = home.record_file(thread);
    let set_head = || -> Result<SwapOutcome> {
        file.lock().path_context("lock", &path)?;
        // Before the settings name the worktree: what they name is discarded if the thread cannot begin.
        worktree.map_or(Ok(()), |worktree| worktree.refuse_taken_branch(thread))?;
        settings.write(home, thread, file)?;
        // Durable before the head is: a lost index is rebuilt from the record.
        file.sync_all().path_context("sync", &path)?;
        durable_files::sync_dir(&home.threads_dir())?;
        if let Some(worktree) = worktree {
            worktree.make(home, thread, head, &settings.workspace)?;
        }
        // A child thread without a worktree works where its parent does.
        if settings.parent.is_none() || settings.worktree.is_some() {
            settings.workplace(head).publish_note(home, thread)?;
        }
        Ok(home.heads().create(thread.as_str(), head)?)
    };
    let begun = set_head();
    match begun {
        // The line need not be durable while the index exists.
        Ok(SwapOutcome::Done) => drop(record::write(home, thread, file, &NewThreadLine::Begun)),
        // A child thread that the index has lost starts again, and its record may name paid attempts.
        Ok(SwapOutcome::Moved(_)) | Err(_) if never_began(home, thread).unwrap_or(false) => {
            // Only the record knows the worktree, so keep it if the worktree can't be removed.
            if discard_worktree(home, thread).is_ok() {
                drop(fs::remove_file(path));
                // A leftover note would look like a thread whose head was lost.
                let _ = workplace::forget(home, thread);
            }
        }
        Ok(SwapOutcome::Moved(_)) | Err(_) => {}
    }
    begun
}

/// Replaces the record of a thread whose head is about to change, durably: attempts in the old record belong to the old head.
pub(crate) fn begin_anew(home: &Home, thread: &ThreadId, head: NodeHash, settings: &ThreadSettings) -> Result<()> {
    let digest = digest::computed_at(home, head).ok();
    let settings = ThreadSettings { digest, ..settings.begun_at(head) };
    record::renew(home, thread, settings.text()?.as_bytes(), &NewThreadLine::Begun)
}

/// The settings of a thread that starts at a head. At a StartNode, adds its digest. At a step without a recorded digest, leaves that to
/// the thread's first step, because it takes reading the whole history. An unreadable node does not prevent the start: the thread's first
/// step reports it.
fn with_digest(home: &Home, head: NodeHash, settings: &ThreadSettings) -> ThreadSettings {
    let digest = settings.digest.or_else(|| digest::at_start(home.store(), head).ok().flatten());
    ThreadSettings { digest, ..settings.begun_at(head) }
}

/// Whether the record of a thread contains more than its settings, or might because it is damaged.
pub(crate) fn has_begun(home: &Home, thread: &ThreadId) -> Result<bool> {
    match record::read(home, thread) {
        Err(error) if error.is_damage() => Ok(true),
        record => Ok(record::newest_first(&record?).filter_map(record::event).any(|event| event != "settings")),
    }
}

/// Whether a command is starting a thread right now: the thread has no head yet, and its record is locked.
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

/// Threads whose commands were killed before they had a head, at least `age` ago, so that no command can still be starting them. Threads
/// that are known to have begun are not looked at.
pub(crate) fn abandoned(home: &Home, age: Duration, has_begun: impl Fn(&ThreadId) -> bool) -> Result<Vec<ThreadId>> {
    let mut found = Vec::new();
    for thread in home.recorded_threads()?.into_iter().filter(|thread| !has_begun(thread)) {
        if held_if_abandoned(home, &thread, age)?.is_some() {
            found.push(thread);
        }
    }
    Ok(found)
}

/// Removes the record of a thread that [`abandoned`] found, unless a command is using it by now.
pub(crate) fn remove(home: &Home, thread: &ThreadId, age: Duration) -> Result<()> {
    let path = home.record_file(thread);
    match held_if_abandoned(home, thread, age)? {
        Some(_held) => {
            discard_worktree(home, thread)?;
            Ok(fs::remove_file(&path).path_context("remove", &path)?)
        }
        None => Ok(()),
    }
}

/// Removes the worktree of a thread that never started: no agent has worked in it.
fn discard_worktree(home: &Home, thread: &ThreadId) -> Result<()> {
    match ThreadSettings::load(home, thread) {
        Ok(Some(ThreadSettings { worktree: Some(worktree), .. })) => Ok(worktree::discard(home, thread, &worktree)?),
        // Damaged settings were torn while being written, and a worktree is created only after they are durable.
        Ok(_) | Err(Error { cause: Some(ErrorCause::DamagedSettings), .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The locked record of a thread that no command is starting and that never had a step: a stepped thread has a lock file.
fn held_if_abandoned(home: &Home, thread: &ThreadId, age: Duration) -> Result<Option<File>> {
    let path = home.record_file(thread);
    let file = match regular::open(&path) {
        // A directory or other non-file may have replaced the record of a stepped thread, so treat it as damaged.
        Err(error) if is_damage(&error) => return Ok(None),
        other => other.path_context("open", &path)?,
    };
    let modified = file.metadata().and_then(|meta| meta.modified()).path_context("look at", &path)?;
    let is_old = modified.elapsed().is_ok_and(|elapsed| elapsed >= age);
    let lock = home.thread_lock(thread);
    let was_stepped = lock.try_exists().path_context("look at", &lock)?;
    let is_abandoned = is_old && !was_stepped && file.try_lock().is_ok() && never_began(home, thread)?;
    Ok(is_abandoned.then_some(file))
}

/// Whether a thread never started, by its record, the index and the history.
fn never_began(home: &Home, thread: &ThreadId) -> Result<bool> {
    Ok(!has_begun(home, thread)?
        && home.heads().read(thread.as_str())?.is_none()
        && history::newest_line(home, thread)?.is_none())
}
