//! The record of a thread: `threads/<id>.jsonl`, this machine's data about it besides index and nodes.
//!
//! It is one append-only file of lines: first the settings ([`crate::attempt::settings`]), then the newest attempts
//! ([`crate::attempt::recorded`]). It is beside the directory of its thread and not in it. So starting a thread creates
//! one new name, which is durable from then on, and a step's record needs only one sync.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::time::UNIX_EPOCH;

use durable_files::regular;
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;

/// Size at which a record is restarted, about twenty attempts: each step reads it five times.
pub(crate) const LIMIT: u64 = 16 << 10;

/// Beginning of a line with settings. It also identifies a damaged line, so that uwf does not use an older one instead.
const SETTINGS: &[u8] = br#"{"event":"settings""#;

/// The field with the kind of a line.
#[derive(Deserialize)]
struct RecordLineTag<'l> {
    event: &'l str,
}

/// The kind of a line; `None` if it is torn or otherwise not valid.
pub(crate) fn event(line: &[u8]) -> Option<&str> {
    serde_json::from_slice::<RecordLineTag<'_>>(line).ok().map(|tag| tag.event)
}

/// The record; empty if it is missing.
pub(crate) fn read(home: &Home, thread: &ThreadId) -> Result<Vec<u8>> {
    let path = home.record_file(thread);
    match regular::read(&path, regular::MAX_TEXT) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.path_context("read", &path),
    }
}

/// When a thread started, in Unix milliseconds: by its id, or by the age of its record if the id contains no time.
pub(crate) fn started_at(home: &Home, thread: &ThreadId) -> Option<u64> {
    let recorded_at = || {
        let record = home.record_file(thread).metadata().ok()?;
        // Not every file system knows when a file was created.
        let time = record.created().or_else(|_| record.modified()).ok()?;
        let time = u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
        Some(time).filter(|time| ids::is_plausible(*time))
    };
    ids::started_at(thread).or_else(recorded_at)
}

/// The lines of a record. Some are empty: each line also begins with a line break, so that a torn line before it does
/// no harm.
pub(crate) fn newest_first(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    record.rsplit(|byte| *byte == b'\n')
}

/// The line of a record with the settings.
pub(crate) fn settings_line(record: &[u8]) -> Option<&[u8]> {
    newest_first(record).find(|line| line.starts_with(SETTINGS))
}

/// Whether the record of a thread has content, or may have because it is damaged. An incomplete first line does not
/// count.
pub(crate) fn says_anything(home: &Home, thread: &ThreadId) -> Result<bool> {
    match read(home, thread) {
        Err(error) if error.is_damage() => Ok(true),
        record => Ok(newest_first(&record?).any(|line| event(line).is_some())),
    }
}

/// Adds a line to an existing record. Never creates one: an agent that outlived its keeper may still answer after its
/// thread was removed.
pub(crate) fn append(home: &Home, thread: &ThreadId, line: &impl Serialize) -> Result<File> {
    let path = home.record_file(thread);
    let file = regular::open_with(OpenOptions::new().append(true), &path).path_context("open", &path)?;
    write(home, thread, &file, line)?;
    Ok(file)
}

/// Adds lines to an existing record, all or none unless the disk is full.
pub(crate) fn append_all(home: &Home, thread: &ThreadId, lines: &[impl Serialize]) -> Result<()> {
    let path = home.record_file(thread);
    let text = lines.iter().map(text).collect::<Result<String>>()?;
    let mut file = regular::open_with(OpenOptions::new().append(true), &path).path_context("open", &path)?;
    file.write_all(text.as_bytes()).path_context("write", &path)
}

/// Opens a record for appending, creating it if necessary.
pub(crate) fn open_or_create(home: &Home, thread: &ThreadId) -> Result<File> {
    let path = home.record_file(thread);
    let open = || regular::open_with(OpenOptions::new().create(true).append(true), &path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let dir = home.threads_dir();
            std::fs::create_dir_all(&dir).path_context("create", &dir)?;
            open().path_context("create", &path)
        }
        other => other.path_context("open", &path),
    }
}

/// Writes a line at the end of an open record, in one `write`.
pub(crate) fn write(home: &Home, thread: &ThreadId, mut file: &File, line: &impl Serialize) -> Result<()> {
    file.write_all(text(line)?.as_bytes()).path_context("write", home.record_file(thread))
}

/// Durably replaces a long record with two lines, because a lost index is rebuilt from the record.
pub(crate) fn renew(home: &Home, thread: &ThreadId, settings: &[u8], line: &impl Serialize) -> Result<()> {
    let record = [settings, text(line)?.as_bytes()].concat();
    Ok(durable_files::replace(&home.record_file(thread), &record)?)
}

/// A line in its written form.
pub(crate) fn text(line: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(line)
        .map_err(|error| Error::internal(format!("cannot write the record of a thread: {error}")))?;
    Ok(format!("\n{json}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_record_is_made_by_what_comes_late() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let thread = crate::root::ids::new_thread_id();
        drop(open_or_create(&home, &thread).unwrap());
        append(&home, &thread, &"in time").unwrap();
        assert_eq!(newest_first(&read(&home, &thread).unwrap()).nth(1), Some(b"\"in time\"".as_slice()));
        std::fs::remove_file(home.record_file(&thread)).unwrap();
        assert!(append(&home, &thread, &"too late").is_err());
        assert!(!home.record_file(&thread).exists());
    }
}
