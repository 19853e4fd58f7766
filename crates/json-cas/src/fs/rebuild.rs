//! A new index in the place of a broken one.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::heads::FsHeads;
use super::index::{self, Index};
use crate::durable::{self, FileError};
use crate::hash::Hash;
use crate::heads::{HeadsError, check_name};

/// What can still be read of an index, in whatever state its file is.
#[derive(Debug)]
pub struct Salvaged {
    /// The names it has and where they point, ended ones included: of a readable index all, of a
    /// broken one those whose line is whole.
    pub entries: Vec<(String, Hash)>,
    /// Why it is not readable as a whole; `None` when it is.
    pub fault: Option<HeadsError>,
    /// The file as it was, to tell whether it has changed since.
    seen: Option<Vec<u8>>,
}

impl FsHeads {
    /// Reads what can be read of the index. Takes no lock and never fails: what is wrong is told
    /// in the result.
    pub fn salvage(&self) -> Salvaged {
        let seen = fs::read(&self.index).ok();
        match self.load() {
            Ok(index) => {
                let entries = index.entries().map(|(name, hash)| (name.to_owned(), hash)).collect();
                Salvaged { entries, fault: None, seen }
            }
            Err(fault) => {
                let entries = seen.as_deref().map(index::salvage).unwrap_or_default();
                Salvaged { entries, fault: Some(fault), seen }
            }
        }
    }

    /// Writes an index with just these names in the place of the one that was salvaged, which is
    /// kept as `keep_as`; `ended` are records the journal lacks. Says whether it did: not when the file has changed since it was
    /// salvaged, which then has to be done again.
    ///
    /// # Errors
    /// [`HeadsError`]; the index is then as it was, or gone and told to be so.
    pub fn rebuild(
        &self,
        salvaged: &Salvaged,
        entries: &[(String, Hash)],
        ended: &[Value],
        keep_as: &Path,
    ) -> Result<bool, HeadsError> {
        let mut index = Index::empty();
        for (name, hash) in entries {
            check_name(name)?;
            index.set(name, *hash);
        }
        let lock = self.locked()?;
        if fs::read(&self.index).ok() != salvaged.seen {
            return Ok(false);
        }
        match &salvaged.seen {
            // Copied, so that at every moment there is one.
            Some(bytes) => durable::replace(keep_as, bytes)?,
            // Not a file at all: a directory, or a link that leads nowhere.
            None => match fs::rename(&self.index, keep_as) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError::at("rename", &self.index)(error).into());
                }
                _ => {}
            },
        }
        for record in ended {
            durable::append(&self.journal, &record.to_string())?;
        }
        self.save(&lock, &index)?;
        Ok(true)
    }
}
