//! A directory through which the process that plays a group hands over the threads of its branches, so that another process lets workers
//! play them.
//!
//! The receiver makes the directory and keeps a file in it locked. The group adds a file for each thread and waits. The receiver takes
//! the file, and reports what it learns about the thread. If the receiver is killed, the lock is free, and the group stops waiting.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempDir};

/// The file that the receiver keeps locked.
const LOCK: &str = "lock";

/// End of the name of a file with a thread that was handed over.
const HANDED_OVER: &str = "thread";

/// End of the name of a file with news about a thread.
const NEWS: &str = "news";

/// News of the receiver about a thread that was handed over to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum HandoverNews {
    /// Something keeps the thread from continuing for now.
    Delayed {
        /// One line.
        why: String,
    },
    /// The thread needs a person to continue.
    Stopped {
        /// Exit code of the step or check that found this.
        exit_code: u8,
        /// One line.
        why: String,
    },
    /// The thread has ended.
    Ended,
}

/// The receiver's end.
#[derive(Debug)]
pub struct HandoverReceiver {
    dir: TempDir,
    _lock: File,
}

impl HandoverReceiver {
    /// Creates a directory that only this user can read. It is removed with the value.
    ///
    /// # Errors
    /// If it can't be created or locked.
    pub fn open() -> io::Result<HandoverReceiver> {
        let dir = tempfile::Builder::new().prefix("uwf-branches-").tempdir()?;
        let lock = File::create(dir.path().join(LOCK))?;
        lock.try_lock()?;
        Ok(HandoverReceiver { dir, _lock: lock })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The threads that were handed over since the last call.
    ///
    /// # Errors
    /// If the directory can't be read.
    pub fn take(&self) -> io::Result<Vec<String>> {
        let mut taken = Vec::new();
        for entry in fs::read_dir(self.dir.path())? {
            let path = entry?.path();
            let is_thread = path.extension().is_some_and(|end| end == HANDED_OVER);
            if let Some(thread) = path.file_stem().and_then(|name| name.to_str()).filter(|_| is_thread) {
                fs::remove_file(&path)?;
                taken.push(thread.to_owned());
            }
        }
        taken.sort_unstable();
        Ok(taken)
    }

    /// Reports news about a thread, in place of those that the group has not read yet.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn report(&self, thread: &str, news: &HandoverNews) -> io::Result<()> {
        let file = NamedTempFile::new_in(self.dir.path())?;
        serde_json::to_writer(&file, news)?;
        file.persist(path_of(self.dir.path(), thread, NEWS))?;
        Ok(())
    }
}

/// Hands over a thread, and forgets older news about it.
///
/// # Errors
/// If the receiver has removed the directory, or the file can't be written.
pub fn hand_over(dir: &Path, thread: &str) -> io::Result<()> {
    news(dir, thread)?;
    File::create(path_of(dir, thread, HANDED_OVER)).map(drop)
}

/// News about a thread since the last call.
///
/// # Errors
/// If the file can't be read, or the receiver wrote it for another version of uwf.
pub fn news(dir: &Path, thread: &str) -> io::Result<Option<HandoverNews>> {
    let path = path_of(dir, thread, NEWS);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    fs::remove_file(&path)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

/// Whether the receiver is alive.
pub fn has_receiver(dir: &Path) -> bool {
    let Ok(lock) = File::open(dir.join(LOCK)) else { return false };
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

fn path_of(dir: &Path, thread: &str, end: &str) -> PathBuf {
    dir.join(format!("{thread}.{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_news_are_read_once() {
        let receiver = HandoverReceiver::open().unwrap();
        hand_over(receiver.dir(), "A").unwrap();
        hand_over(receiver.dir(), "B").unwrap();
        assert_eq!(receiver.take().unwrap(), ["A", "B"]);
        assert!(receiver.take().unwrap().is_empty());
        let stopped = HandoverNews::Stopped { exit_code: 40, why: "the thread is stuck".to_owned() };
        receiver.report("A", &HandoverNews::Delayed { why: "no worker".to_owned() }).unwrap();
        receiver.report("A", &stopped).unwrap();
        assert_eq!(news(receiver.dir(), "B").unwrap(), None);
        assert_eq!(news(receiver.dir(), "A").unwrap(), Some(stopped));
        assert_eq!(news(receiver.dir(), "A").unwrap(), None);
    }

    #[test]
    fn new_handover_forgets_older_news() {
        let receiver = HandoverReceiver::open().unwrap();
        receiver.report("A", &HandoverNews::Ended).unwrap();
        hand_over(receiver.dir(), "A").unwrap();
        assert_eq!(news(receiver.dir(), "A").unwrap(), None);
    }

    #[test]
    fn receiver_counts_as_gone_without_its_lock() {
        let receiver = HandoverReceiver::open().unwrap();
        let dir = receiver.dir().to_owned();
        assert!(has_receiver(&dir));
        drop(receiver);
        assert!(!has_receiver(&dir));
        assert!(hand_over(&dir, "A").is_err());
    }
}
