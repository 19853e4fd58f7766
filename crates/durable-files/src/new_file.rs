//! A large file that is written in parts and appears whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::dirs::sync_dir;
use crate::error::FileError;
use crate::temp::{NEW_FILE_MODE, plain, sync_temp, written_temp};

/// A file that is invisible until it is published. Dropping it earlier leaves nothing behind.
#[derive(Debug)]
pub struct UnpublishedFile {
    temp: NamedTempFile,
    dir: PathBuf,
}

impl UnpublishedFile {
    /// An empty file that will be published in `dir`, which is created if it is missing.
    ///
    /// # Errors
    /// [`FileError`] if no file can be created there.
    pub fn create_in(dir: &Path) -> Result<UnpublishedFile, FileError> {
        Ok(UnpublishedFile { temp: written_temp(dir, &[], NEW_FILE_MODE)?, dir: dir.to_owned() })
    }

    /// Gives the file its name, atomically and durably. An existing file of that name is replaced.
    ///
    /// # Errors
    /// [`FileError`]; either nothing has changed, or the file is there but a power cut may undo the change.
    pub fn publish(self, name: &str) -> Result<PathBuf, FileError> {
        sync_temp(&self.temp)?;
        let path = self.dir.join(name);
        self.temp.persist(&path).map_err(|error| FileError::failed_to("publish", &path)(plain(error.error)))?;
        sync_dir(&self.dir)?;
        Ok(path)
    }
}

impl Write for UnpublishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temp.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
