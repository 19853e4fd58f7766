//! A new index in the place of a broken one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use durable_files::{FileError, FileLock};
use serde_json::Value;

use super::heads::FsHeads;
use super::index::{self, Index};
use crate::hash::Hash;
use crate::heads::{HeadsError, check_name};

/// What can still be read of an index, in whatever state its file is.
#[derive(Debug)]
pub struct Salvaged {
    /// The names it has and where they point, removed ones included: of a readable index all, of a
    /// broken one those whose line is whole.
    pub entries: Vec<(String, Hash)>,
    /// Why it is not readable as a whole; `None` when it is.
    pub fault: Option<HeadsError>,
    /// The file as it was, to see whether it has changed since.
    seen: Option<Vec<u8>>,
}

impl Salvaged {
    /// Whether the index file is missing, because it was lost or never created.
    pub fn is_missing(&self) -> bool {
        self.seen.is_none()
    }
}

/// Keeps everybody else from changing index and journal as long as it lives.
#[derive(Debug)]
#[must_use = "dropped at once, it keeps nobody from anything"]
pub struct Held(FileLock);

impl FsHeads {
    /// Keeps everybody else from changing index and journal.
    ///
    /// # Errors
    /// [`HeadsError::Busy`] when others hold the lock for too long: try again. [`HeadsError::Io`] when the lock cannot be taken
    /// at all, because nobody may write there for instance.
    pub fn hold(&self) -> Result<Held, HeadsError> {
        self.locked().map(Held)
    }

    /// Reads what can be read of the index. Takes no lock and never fails: the result says
    /// what is wrong.
    pub fn salvage(&self) -> Salvaged {
        let nothing = |fault| Salvaged { entries: Vec::new(), fault, seen: None };
        let seen = match self.read_made_index() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return nothing(None),
            Err(fault) => return nothing(Some(fault)),
        };
        match index::parse(&self.files.index, &seen) {
            Ok(index) => Salvaged { entries: index.into_iter().collect(), fault: None, seen: Some(seen) },
            Err(fault) => Salvaged { entries: index::salvage(&seen), fault: Some(fault), seen: Some(seen) },
        }
    }

    /// Whether something other than a file is in the journal's place: a directory, or a link
    /// that leads nowhere. [`FsHeads::rebuild`] moves it out of the way.
    pub fn journal_is_no_file(&self) -> bool {
        self.files.journal.symlink_metadata().is_ok() && !self.files.journal.is_file()
    }

    /// Writes an index with just these names in the place of the one that was salvaged; `ended` are
    /// records the journal lacks. What has to give way is kept under a name with `suffix` at its
    /// end. Says whether it did: not when the file has changed since it was salvaged, which nobody does who asks for
    /// the lock that is `held`.
    ///
    /// # Errors
    /// [`HeadsError`], [`HeadsError::Io`] also when the file could not be salvaged and can be read by now: try again. The index
    /// is as it was, or moved away under the name with `suffix`. Then readers get [`HeadsError::Unreadable`], and another recovery
    /// makes it.
    pub fn rebuild(
        &self,
        held: &Held,
        salvaged: &Salvaged,
        entries: &[(String, Hash)],
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
            // It could not be read before, and can be now: nobody changed it.
            (Ok(_), None) if matches!(salvaged.fault, Some(HeadsError::Io { .. })) => {
                let error = io::Error::other("it could not be read a moment ago");
                return Err(FileError::at("read", &self.files.index)(error).into());
            }
            (Ok(_), _) => return Ok(false),
        }
        match &salvaged.seen {
            // Copied, so that at every moment there is one.
            Some(bytes) => durable_files::replace(&kept(&self.files.index, suffix), bytes)?,
            // Not a file at all: a directory, or a link that leads nowhere.
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
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::at("rename", path)(error)),
        _ => Ok(()),
    }
}

/// Where a file that has to give way is kept: its own name and the suffix.
fn kept(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
