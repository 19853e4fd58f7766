//! Files that survive a power cut, and the lock that guards them.
//!
//! Every write goes to a uniquely named temporary file in the directory of its target, is synced,
//! published under its name and then fixed by a sync of the directory.

mod append;
mod batch;
mod leftovers;
mod lock;
mod replace;

pub use append::append;
pub use batch::{publish_all, sync_dir, sync_file};
pub use leftovers::{leftovers, remove_leftovers};
pub use lock::FileLock;
pub use replace::{replace, replace_itself, replace_private};

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::regular;

/// How names of temporary files begin; whoever lists a directory leaves these out.
pub const TEMP_PREFIX: &str = ".tmp-";

/// Permissions asked for new files; the umask takes away what the user does not want.
const NEW_FILE_MODE: u32 = 0o666;

/// What failed on which file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// What was being done, a verb.
    pub action: &'static str,
    /// To which file or directory.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl FileError {
    pub(crate) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
        move |source| FileError { action, path: path.to_owned(), source }
    }

    /// Whether the disk or the quota is full.
    pub fn is_disk_full(&self) -> bool {
        is_disk_full(&self.source)
    }
}

/// Whether an error says that the disk or the quota is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A temporary file with `bytes` in `dir`, which is made if need be; removed again when dropped.
/// It never has more permissions than `mode`. Not yet synced.
fn written_temp(dir: &Path, bytes: &[u8], mode: u32) -> Result<NamedTempFile, FileError> {
    let create = || {
        tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(dir)
            // tempfile puts the path into the message, where it would be told twice.
            .map_err(|source| FileError::at("create a file in", dir)(plain(source)))
    };
    let mut temp = match create() {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            create_dir(dir)?;
            create()?
        }
        other => other?,
    };
    temp.as_file_mut().write_all(bytes).map_err(FileError::at("write", temp.path()))?;
    Ok(temp)
}

/// Makes the content of a temporary file durable.
fn sync_temp(temp: &NamedTempFile) -> Result<(), FileError> {
    temp.as_file().sync_all().map_err(FileError::at("sync", temp.path()))
}

/// The error of the operating system, without the path that a library added to its text.
fn plain(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path \"") {
        Some((told, _)) => io::Error::new(error.kind(), told.to_owned()),
        None => error,
    }
}

/// Makes a directory with its parents, durably.
pub(crate) fn create_dir(dir: &Path) -> Result<(), FileError> {
    let made: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    std::fs::create_dir_all(dir).map_err(FileError::at("create the directory", dir))?;
    for new in made {
        sync_dir(dir_of(new))?;
    }
    Ok(())
}

/// The directory a file is in.
pub(crate) fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Opens for reading; `None` when there is no such file.
pub(crate) fn open_if_there(path: &Path) -> Result<Option<File>, FileError> {
    match regular::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::at("open", path)(error)),
    }
}
