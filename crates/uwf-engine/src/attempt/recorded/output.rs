//! The files with an attempt's output, until uwf has read it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use durable_files::regular;
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use crate::error::{AtPath, Result};
use crate::root::home::Home;

/// Output files of an attempt.
#[derive(Debug, Clone)]
pub struct AttemptOutputFiles {
    /// Stdout of the agent process.
    pub out: PathBuf,
    /// Stderr of everything in the attempt.
    pub err: PathBuf,
    /// Stdout of the wrapped command, for agents with `output: text` or `json`.
    pub raw: PathBuf,
    /// How the run of the wrapped command ended, and what it is compared with: the agent process may be killed before that.
    pub run: PathBuf,
    /// Value submitted through the submit tool.
    pub submitted: PathBuf,
    /// The agent's turns so far: see [`crate::attempt::live_trace`].
    pub trace: PathBuf,
    /// The current turn.
    pub turn: PathBuf,
    /// The trace of a session that the agent gave up to begin another one.
    pub(crate) given_up: PathBuf,
    /// Reserved space: see [`AttemptOutputFiles::reserve`].
    pub(crate) room: PathBuf,
}

/// Bytes reserved for an answer, and again for its nodes. Most answers are far smaller.
const ROOM: u64 = 256 << 10;

impl AttemptOutputFiles {
    /// The files of an attempt.
    pub fn paths_of_attempt(home: &Home, thread: &ThreadId, attempt: &str) -> AttemptOutputFiles {
        let is_by_hand = super::is_by_hand(attempt);
        let dir = if is_by_hand { super::dir_by_hand(home, thread, attempt) } else { home.attempts_dir(thread) };
        let file = |extension: &str| dir.join(format!("{attempt}.{extension}"));
        AttemptOutputFiles {
            out: file("out"),
            err: file("err"),
            raw: file("raw"),
            run: file("run"),
            submitted: file("submitted"),
            trace: file("trace"),
            turn: file("turn"),
            given_up: file("given-up"),
            room: file("room"),
        }
    }

    /// Reserves disk space for an answer before the agent starts, because an answer that can't be saved would be paid
    /// for again. Does nothing on file systems that can't reserve space.
    ///
    /// # Errors
    /// `Io` if the disk is too full. Nothing was paid yet.
    pub(crate) fn reserve(&self) -> Result<()> {
        let file = regular::open_with(OpenOptions::new().create(true).append(true), &self.room)
            .path_context("create", &self.room)?;
        room_in(&file).path_context("reserve space for an answer in", &self.room)
    }

    /// Frees the reserved space.
    pub fn release(&self) {
        // If it stays, the next sweep removes it.
        let _ = std::fs::remove_file(&self.room);
    }
}

/// Reserves space for an answer in a file without changing its length. Does nothing on file systems that can't reserve
/// space.
pub fn room_in(file: &File) -> io::Result<()> {
    host().reserve_space(file, ROOM)
}

impl AttemptOutputFiles {
    /// Whether a file that is kept with an attempt has any content.
    ///
    /// # Errors
    /// `Io` when that is unknown.
    pub(crate) fn have_anything(&self) -> Result<bool> {
        for file in [&self.out, &self.raw, &self.err] {
            if size(file)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a value was submitted. Submitting writes the whole value durably or nothing, so other content does not
    /// count.
    ///
    /// # Errors
    /// `Io` when that is unknown.
    pub(crate) fn has_value(&self) -> Result<bool> {
        let is_no_value =
            [ErrorKind::NotFound, ErrorKind::InvalidData, ErrorKind::InvalidInput, ErrorKind::FileTooLarge];
        match regular::read_to_string(&self.submitted, regular::MAX_OBJECT) {
            Err(error) if is_no_value.contains(&error.kind()) => Ok(false),
            text => Ok(json_cas::json_value(&text.path_context("read", &self.submitted)?).is_ok()),
        }
    }
}

/// Size of a file in bytes; 0 if it does not exist.
pub(super) fn size(path: &Path) -> Result<u64> {
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        meta => Ok(meta.path_context("look at", path)?.len()),
    }
}

/// Writes a file to disk, if it exists.
pub(super) fn sync(path: &Path) -> Result<()> {
    match regular::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        file => Ok(file.and_then(|file| file.sync_all()).path_context("sync", path)?),
    }
}

/// Gives a new attempt the value that was submitted in an earlier one, if there is one.
pub(crate) fn hand_on(home: &Home, thread: &ThreadId, from: &str, to: &str) -> Result<()> {
    let [from, to] = [from, to].map(|attempt| AttemptOutputFiles::paths_of_attempt(home, thread, attempt).submitted);
    match std::fs::hard_link(&from, &to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        linked => Ok(linked.path_context("write", &to)?),
    }
}

/// Removes the output files of all attempts except `keep`.
pub fn sweep(home: &Home, thread: &ThreadId, keep: Option<&str>) {
    let Ok(entries) = std::fs::read_dir(home.attempts_dir(thread)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let of_kept = keep.is_some_and(|keep| name.to_string_lossy().starts_with(keep));
        if !of_kept {
            let path = entry.path();
            // Left-overs only cost space; the next sweep tries again.
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}
