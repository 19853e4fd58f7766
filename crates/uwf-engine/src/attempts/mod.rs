//! The record of a thread's newest attempt: what was tried, by which processes, and what came of it.
//!
//! `threads/<id>/attempt.jsonl` is appended to; the newest `opened` line begins the record, what stands before it is of
//! earlier attempts. Its name is made durable once, when the thread starts, so recording a finished output costs one
//! fsync. Its lines:
//!
//! | event | written by | when |
//! |---|---|---|
//! | `opened` | keeper | before the agent starts |
//! | `started` | keeper | when the agent's process exists |
//! | `answered` | agent process | when the agent has answered in full, and the answer is in its output file |
//! | `named` | keeper | when an agent that stores its nodes itself has named its step, before that is verified |
//! | `finished` | agent process | when its nodes are stored, before it reports them; fsynced |
//! | `gaveUp` | agent process | instead, when it knows why there is no result |
//! | `closed` | keeper | when the head moved, or the attempt failed |
//! | `ended` | whoever ended the thread | when its line is in the history: a second copy of it |
//!
//! A line of another attempt (a late result) is ignored: the `opened` line says whose record it is.

mod attempt;
mod lines;
mod notice;
mod output;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use json_cas::Hash;
use uwf_core::thread::ThreadId;

pub use self::attempt::Attempt;
use self::lines::Line;
pub use self::lines::{Answered, Closed, Finished, GaveUp, Named, Opened, Outcome, Started};
pub(crate) use self::notice::Notices;
pub use self::notice::notify;
pub(crate) use self::output::OUTPUT_DIR_MODE;
pub use self::output::{OutputFiles, sweep};
use crate::error::{AtPath, Error, Kind, Result};
use crate::history;
use crate::home::Home;
use crate::marks::{self, Mark};

/// Bytes after which the record is begun anew, some twenty attempts: it is read three times a step.
const RECORD_LIMIT: u64 = 16 << 10;

/// Reads the newest attempt; `None` when there was none, or its first line never got written whole (then no agent
/// was started).
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn read(home: &Home, thread: &ThreadId) -> Result<Option<Attempt>> {
    Ok(newest(&bytes(home, thread)?))
}

/// The newest attempt in a record. The lines are looked at from the end, and no further than where it was opened: what
/// stands before that is of earlier attempts.
fn newest(record: &[u8]) -> Option<Attempt> {
    // Lines are led by a newline too, so that a torn one before them does no harm.
    let mut lines = record.rsplit(|byte| *byte == b'\n').filter_map(Line::parse);
    let mut later = Vec::new();
    let opened = lines.find_map(|line| match line {
        Line::Opened(opened) => Some(*opened),
        other => {
            later.push(other);
            None
        }
    })?;
    Some(later.into_iter().rev().fold(Attempt::begun(opened), Attempt::with))
}

/// What the record says last about the thread's end; `None` when it has not ended, or was begun anew since.
///
/// # Errors
/// `Io` when the file cannot be read.
pub fn end_of(home: &Home, thread: &ThreadId) -> Result<Option<history::Finished>> {
    let record = bytes(home, thread)?;
    let newest = record.rsplit(|byte| *byte == b'\n').find_map(|line| match Line::parse(line)? {
        Line::Ended(finished) => Some(Some(finished).filter(|finished| finished.thread == *thread)),
        Line::Opened(_) => Some(None),
        Line::Started(_)
        | Line::Answered(_)
        | Line::Named(_)
        | Line::Finished(_)
        | Line::GaveUp(_)
        | Line::Closed(_) => None,
    });
    Ok(newest.flatten())
}

/// The record; without a byte when there is none.
fn bytes(home: &Home, thread: &ThreadId) -> Result<Vec<u8>> {
    let path = home.attempt_file(thread);
    match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.at("read", &path),
    }
}

/// Opens an attempt. Written before the agent starts; not synced, because after a power loss no agent is alive and a
/// record that lacks the line means just that.
///
/// # Errors
/// `Io`.
pub fn open(home: &Home, opened: Opened) -> Result<()> {
    let path = home.attempt_file(&opened.thread);
    let thread = opened.thread.clone();
    let mut file = OpenOptions::new().create(true).append(true).open(&path).at("open", &path)?;
    let line = Line::Opened(Box::new(opened));
    if file.metadata().at("read", &path)?.len() > RECORD_LIMIT {
        // Synced, because the lines it takes the place of are what a lost index is rebuilt from.
        json_cas::durable::replace(&path, text(&line)?.as_bytes())?;
    } else {
        write_line(&mut file, &path, &line)?;
    }
    marks::open(home, &thread)
}

/// Records the agent's process.
///
/// # Errors
/// `Io`.
pub fn started(home: &Home, thread: &ThreadId, started: Started) -> Result<()> {
    append(home, thread, &Line::Started(started)).map(drop)
}

/// Records that the agent has answered, with all that is in [`OutputFiles::raw`] now.
///
/// # Errors
/// `Io`.
pub fn answered(home: &Home, thread: &ThreadId, attempt: &str) -> Result<()> {
    let raw = OutputFiles::of(home, thread, attempt).raw;
    let bytes = raw.metadata().at("look at", &raw)?.len();
    append(home, thread, &Line::Answered(Answered { attempt: attempt.to_owned(), bytes })).map(drop)
}

/// Records the step an agent named, so that it need not run again whatever becomes of its verification.
///
/// # Errors
/// `Io`.
pub fn named(home: &Home, thread: &ThreadId, attempt: &str, step: Hash) -> Result<()> {
    append(home, thread, &Line::Named(Named { attempt: attempt.to_owned(), step })).map(drop)
}

/// Records a result durably. After it returns, the output can't be lost.
///
/// # Errors
/// `Io`.
pub fn finished(home: &Home, thread: &ThreadId, attempt: &str, step: Hash) -> Result<()> {
    let line = Finished { attempt: attempt.to_owned(), step, finished_at: crate::ids::now_ms() };
    let file = append(home, thread, &Line::Finished(line))?;
    file.sync_data().at("sync", home.attempt_file(thread))
}

/// Records why there is no result.
///
/// # Errors
/// `Io`.
pub fn gave_up(home: &Home, thread: &ThreadId, gave_up: GaveUp) -> Result<()> {
    append(home, thread, &Line::GaveUp(gave_up)).map(drop)
}

/// Records how an attempt was concluded.
///
/// # Errors
/// `Io`.
pub fn closed(home: &Home, thread: &ThreadId, closed: Closed) -> Result<()> {
    append(home, thread, &Line::Closed(closed))?;
    marks::clear(home, thread, &[Mark::Open])
}

/// Keeps a copy of a thread's line in the history. Whether that works does not matter as long as the history is whole.
pub fn ended(home: &Home, finished: &history::Finished) {
    let path = home.attempt_file(&finished.thread);
    let file = OpenOptions::new().append(true).open(&path);
    let _ = file.map(|mut file| write_line(&mut file, &path, &Line::Ended(finished.clone())));
}

/// Id of this boot, so that process ids of an earlier one are never acted upon. Empty on a system that has none.
///
/// # Errors
/// `Io` when it cannot be told just now: taken for another boot, processes would not be ended and answers not be read.
pub fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    match std::fs::read_to_string(path) {
        Ok(id) => Ok(id.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

fn append(home: &Home, thread: &ThreadId, line: &Line) -> Result<File> {
    let path = home.attempt_file(thread);
    let mut file = OpenOptions::new().create(true).append(true).open(&path).at("open", &path)?;
    write_line(&mut file, &path, line)?;
    Ok(file)
}

/// One `write` a line, led by a newline when the file's last line may be torn.
fn write_line(file: &mut File, path: &Path, line: &Line) -> Result<()> {
    file.write_all(text(line)?.as_bytes()).at("write", path)
}

fn text(line: &Line) -> Result<String> {
    let json = serde_json::to_string(line)
        .map_err(|error| Error::new(Kind::Internal, format!("cannot write the attempt record: {error}")))?;
    Ok(format!("\n{json}\n"))
}
