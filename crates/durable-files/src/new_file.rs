//! A large file that is written bit by bit and appears whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::dirs::sync_dir;
use crate::error::FileError;
use crate::temp::{NEW_FILE_MODE, plain, sync_temp, written_temp};

/// A file that nobody sees before it is published. Dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    temp: NamedTempFile,
    dir: PathBuf,
}

impl NewFile {
    /// An empty file that will be in `dir`, which is made if need be.
    ///
    /// # Errors
    /// [`FileError`] when nothing can be made there.
    pub fn create_in(dir: &Path) -> Result<NewFile, FileError> {
        Ok(NewFile { temp: written_temp(dir, &[], NEW_FILE_MODE)?, dir: dir.to_owned() })
    }

    /// Gives it its name, durably and at once. What had the name before is replaced.
    ///
    /// # Errors
    /// [`FileError`]; then nothing has changed, or it is there and a power cut may take it away again.
    pub fn publish(self, name: &str) -> Result<PathBuf, FileError> {
        sync_temp(&self.temp)?;
        let path = self.dir.join(name);
        self.temp.persist(&path).map_err(|error| FileError::at("publish", &path)(plain(error.error)))?;
        sync_dir(&self.dir)?;
        Ok(path)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temp.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
