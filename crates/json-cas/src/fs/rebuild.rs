//! Replaces a broken index.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use durable_files::{FileError, FileLock};
use serde_json::Value;

use super::heads::FsHeads;
use super::index::{self, Index};
use crate::hash::NodeHash;
use crate::heads::{HeadsError, check_name};

/// The readable part of an index, whatever state its file is in.
#[derive(Debug)]
pub struct SalvagedIndex {
    /// The names and their hashes, including removed names: all names of a readable index, or the intact lines of a broken one.
    pub entries: Vec<(String, NodeHash)>,
    /// Why the index as a whole is unreadable; `None` if it is readable.
    pub fault: Option<HeadsError>,
    /// The bytes of the file, to detect later changes.
    seen: Option<Vec<u8>>,
}

impl SalvagedIndex {
    /// Whether the index file is missing, because it was lost or never created.
    pub fn is_missing(&self) -> bool {
        self.seen.is_none()
    }
}

/// Keeps others from changing index and journal until it is dropped.
#[derive(Debug)]
#[must_use = "dropped at once, it keeps nobody from anything"]
pub struct FsHeadsLock(FileLock);

impl FsHeads {
    /// Keeps others from changing index and journal.
    ///
    /// # Errors
    /// [`HeadsError::Busy`] if others hold the lock for too long: try again. [`HeadsError::Io`] if the lock can't be taken at all, for
    /// example because the directory is not writable.
    pub fn hold(&self) -> Result<FsHeadsLock, HeadsError> {
        self.locked().map(FsHeadsLock)
    }

    /// Reads as much of the index as possible. Takes no lock and never fails: the result reports the problem.
    pub fn salvage(&self) -> SalvagedIndex {
        let nothing = |fault| SalvagedIndex { entries: Vec::new(), fault, seen: None };
        let seen = match self.read_made_index() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return nothing(None),
            Err(fault) => return nothing(Some(fault)),
        };
        match index::parse(&self.files.index, &seen) {
            Ok(index) => SalvagedIndex { entries: index.into_iter().collect(), fault: None, seen: Some(seen) },
            Err(fault) => SalvagedIndex { entries: index::salvage(&seen), fault: Some(fault), seen: Some(seen) },
        }
    }

    /// Whether something other than a file is in the journal's place: a directory, or a broken link. [`FsHeads::rebuild`] moves it away.
    pub fn journal_is_no_file(&self) -> bool {
        self.files.journal.symlink_metadata().is_ok() && !self.files.journal.is_file()
    }

    /// Writes an index with exactly these names in place of the salvaged one. `ended` are records that the journal lacks. Replaced files
    /// are kept under their names plus `suffix`. Returns `false`, without changing anything, if the file has changed since it was
    /// salvaged. Only a process that ignores the lock in `held` can cause that.
    ///
    /// # Errors
    /// [`HeadsError`]; [`HeadsError::Io`] as well if the file could not be salvaged but is readable now: try again. The index is then
    /// unchanged, or it was moved to the name with `suffix`. In that case readers get [`HeadsError::Unreadable`], and another recovery
    /// creates the index.
    pub fn rebuild(
        &self,
        held: &FsHeadsLock,
        salvaged: &SalvagedIndex,
        entries: &[(String, NodeHash)],
        ended: &[Value],
        suffix: &str,
    ) -> Result<bool, HeadsError> {
        let mut index = Index::new();
        for (name, hash) in entries {
            check_name(name)?;
            index.insert(name.clone(), *hash);
        }
        match (self.read_index(), &salvaged.seen) {
            (Ok(now), seen) if now == *seen => {}
            (Err(_), None) => {}
            (Err(error), Some(_)) => return Err(error),
            // It was unreadable before and is readable now, but was not changed.
            (Ok(_), None) if matches!(salvaged.fault, Some(HeadsError::Io { .. })) => {
                let error = io::Error::other("it could not be read a moment ago");
                return Err(FileError::failed_to("read", &self.files.index)(error).into());
            }
            (Ok(_), _) => return Ok(false),
        }
        match &salvaged.seen {
            // Copied, so that there is an index at every moment.
            Some(bytes) => durable_files::replace(&kept(&self.files.index, suffix), bytes)?,
            // Not a file: a directory, or a broken link.
            None => move_away(&self.files.index, suffix)?,
        }
        if self.journal_is_no_file() {
            move_away(&self.files.journal, suffix)?;
        }
        for record in ended {
            durable_files::append(&self.files.journal, &record.to_string())?;
        }
        self.save(&held.0, &index)?;
        Ok(true)
    }
}

fn move_away(path: &Path, suffix: &str) -> Result<(), FileError> {
    match fs::rename(path, kept(path, suffix)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::failed_to("rename", path)(error)),
        _ => Ok(()),
    }
}

/// The path under which a replaced file is kept: its own name and the suffix.
fn kept(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
