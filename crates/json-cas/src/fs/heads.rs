//! Heads in an index file and a journal.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::regular::{self, MAX_LIST};
use durable_files::{FileError, FileLock};
use serde_json::Value;

use super::index::{self, Index};
use super::journal::JournalFile;
use crate::hash::NodeHash;
use crate::heads::{Head, HeadBackend, HeadsError, NameVersion, SwapOutcome, check_name};
use crate::journal::{JournalRecords, RemovalJournal};

/// How long a change waits for others. One change takes about a millisecond, so this limit is reached only if a process that holds the
/// lock is suspended.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Content of the lock file once an index exists. Not durable: it is written together with the index.
const INDEX_MADE: &str = "an index was made";

/// The files of an [`FsHeads`].
#[derive(Debug, Clone)]
pub struct HeadsFiles {
    /// The index: sorted lines `NAME: "HASH"`.
    pub index: PathBuf,
    /// The journal: one line of JSON for each removed name.
    pub journal: PathBuf,
    /// The lock for both. It is never deleted.
    pub lock: PathBuf,
    /// The key under which each record of the journal has its name. Each record is an object with this key.
    pub name_key: String,
}

/// Names in an index file and records of removed names in a journal. Both are changed only under one lock.
///
/// Reading takes no lock. A name in both files was removed: the process that removed it died between the two writes, and the next change
/// finishes the removal.
///
/// An index that existed once and is missing now is an error, not an empty index. The lock file says whether an index ever existed.
#[derive(Debug, Clone)]
pub struct FsHeads {
    pub(super) files: HeadsFiles,
    lock_wait: Duration,
}

impl From<FileError> for HeadsError {
    fn from(error: FileError) -> HeadsError {
        HeadsError::Io { action: error.action, path: error.path, source: error.source }
    }
}

impl FsHeads {
    /// The heads in these files, which are created on first use. Does no I/O.
    pub fn new(files: HeadsFiles) -> FsHeads {
        FsHeads { files, lock_wait: LOCK_WAIT }
    }

    /// The same heads with another limit on waiting for the lock (default 10 s).
    #[must_use]
    pub fn with_lock_wait(self, lock_wait: Duration) -> FsHeads {
        FsHeads { lock_wait, ..self }
    }

    /// The files.
    pub fn files(&self) -> &HeadsFiles {
        &self.files
    }

    fn lines(&self) -> JournalFile<'_> {
        JournalFile { path: &self.files.journal, name_key: &self.files.name_key }
    }

    pub(super) fn read_index(&self) -> Result<Option<Vec<u8>>, HeadsError> {
        match regular::read(&self.files.index, MAX_LIST) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::failed_to("read", &self.files.index)(error).into()),
        }
    }

    /// The index; empty if it was never created.
    pub(super) fn load(&self) -> Result<Index, HeadsError> {
        let bytes = self.read_made_index()?;
        bytes.map_or_else(|| Ok(Index::new()), |bytes| index::parse(&self.files.index, &bytes))
    }

    /// The bytes of the index; `None` if it was never created.
    pub(super) fn read_made_index(&self) -> Result<Option<Vec<u8>>, HeadsError> {
        match self.read_index()? {
            // The lock file says that there was an index. It may have been created between the two looks.
            None if FileLock::owner(&self.files.lock)?.is_some() => match self.read_index()? {
                None => Err(HeadsError::Unreadable {
                    path: self.files.index.clone(),
                    line: None,
                    reason: "the file is gone, although the index existed".to_owned(),
                }),
                found => Ok(found),
            },
            found => Ok(found),
        }
    }

    pub(super) fn save(&self, lock: &FileLock, index: &Index) -> Result<(), HeadsError> {
        durable_files::replace(&self.files.index, index::render(index).as_bytes())?;
        if lock.is_blank() {
            // This only helps if the index is lost some day. The index counts as saved even if this fails.
            let _ = lock.write_owner(INDEX_MADE);
        }
        Ok(())
    }

    pub(super) fn locked(&self) -> Result<FileLock, HeadsError> {
        FileLock::acquire(&self.files.lock, self.lock_wait)?.ok_or_else(|| HeadsError::Busy {
            path: self.files.lock.clone(),
            waited_ms: u64::try_from(self.lock_wait.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Like [`FsHeads::load_completed`], for callers that hold the lock and will save the index.
    ///
    /// The danger: a process was killed after it had written its record to the journal and before it had synced it. The record is in the
    /// system's memory, every reader sees it, and the name counts as removed. If the index without the name became durable now, and then
    /// the power failed, the name would be in neither file: lost. So the journal is synced first.
    fn load_to_write(&self) -> Result<(Index, bool), HeadsError> {
        let (index, completed) = self.load_completed()?;
        if completed {
            durable_files::sync_file(&self.files.journal)?;
        }
        Ok((index, completed))
    }

    /// The index with half-done removals finished, and whether there were any. The caller, who holds the lock and often has more to write,
    /// must save it.
    fn load_completed(&self) -> Result<(Index, bool), HeadsError> {
        let mut index = self.load()?;
        let mut completed = false;
        for name in self.lines().names_removed_lately()? {
            completed |= index.remove(&name).is_some();
        }
        Ok((index, completed))
    }

    /// Points `name` at `new` if it is at `expected`, which is `None` for a name that does not exist.
    ///
    /// The danger: all names are in one file, which is replaced as a whole. A process that wrote an index which it had read before taking
    /// the lock would undo every move made in between, even moves of other names. So the index is read, compared and written under the
    /// lock. If saving fails, it is unknown whether the name moved: the new index may be in place and only the sync of its directory may
    /// have failed. Then every reader sees the move, but a power cut may undo it.
    fn set(&self, name: &str, expected: Option<&NameVersion>, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let lock = self.locked()?;
        let (mut index, completed) = self.load_to_write()?;
        if !is_at(index.get(name).copied(), expected) {
            return self.give_up(&lock, &index, completed, name);
        }
        if expected.is_none() && self.lines().newest_of(name)?.is_some() {
            return Err(HeadsError::Removed { name: name.to_owned() });
        }
        index.insert(name.to_owned(), new);
        self.save(&lock, &index)?;
        Ok(SwapOutcome::Done)
    }

    /// Ends a call that changed nothing itself.
    fn give_up(&self, lock: &FileLock, index: &Index, completed: bool, name: &str) -> Result<SwapOutcome, HeadsError> {
        if completed {
            self.save(lock, index)?;
        }
        Ok(SwapOutcome::Moved(index.get(name).copied().map(head)))
    }
}

/// The hash of a name identifies its state: chains only grow, so a head that returns to an earlier hash means the same as before.
fn head(hash: NodeHash) -> Head {
    Head { hash, version: NameVersion::new(hash.to_string()) }
}

fn is_at(current: Option<NodeHash>, expected: Option<&NameVersion>) -> bool {
    current.map(|hash| head(hash).version).as_ref() == expected
}

impl HeadBackend for FsHeads {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        check_name(name)?;
        let found = self.read_index()?.and_then(|bytes| index::find(&bytes, name));
        let found = match found {
            None => self.load()?.get(name).copied(),
            found => found,
        };
        match found {
            Some(hash) if !self.lines().removed_lately(name)? => Ok(Some(head(hash))),
            Some(_) | None => Ok(None),
        }
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        Ok(self.load_completed()?.0.into_iter().collect())
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.set(name, None, new)
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.set(name, Some(expected), new)
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        if self.lines().name_in(record) != Some(name) {
            return Err(HeadsError::BadRecord { name: name.to_owned(), key: self.files.name_key.clone() });
        }
        let lock = self.locked()?;
        let (mut index, completed) = self.load_to_write()?;
        if !is_at(index.get(name).copied(), Some(expected)) {
            return self.give_up(&lock, &index, completed, name);
        }
        // First the record, then the index. A crash between the two leaves the name in both files, which means removed. In the reverse
        // order the name would be in neither file, as if it had never existed.
        durable_files::append(&self.files.journal, &record.to_string())?;
        index.remove(name);
        match self.save(&lock, &index) {
            // The name is removed even if the index still has it: the record says so, and the next holder of the lock finishes the
            // removal. But that process looks only at the newest records, so unfinished removals must not pile up. If this call found one
            // and could not save it, it fails.
            Err(failed) if completed => Err(failed),
            Err(_) | Ok(()) => Ok(SwapOutcome::Done),
        }
    }
}

impl RemovalJournal for FsHeads {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        Ok(self.lines().all()?)
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        check_name(name)?;
        Ok(self.lines().newest_of(name)?)
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let lock = self.locked()?;
        // A half-done removal of one of these names must not bring the name back to life.
        let (index, completed) = self.load_to_write()?;
        if completed {
            self.save(&lock, &index)?;
        }
        Ok(self.lines().forget(names)?)
    }
}
