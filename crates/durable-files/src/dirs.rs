//! Directories, and what makes names and contents durable.

use std::path::Path;

use crate::error::FileError;
use crate::regular;

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

/// Makes the entries of a directory durable.
///
/// # Errors
/// [`FileError`]; after one, names made or changed since the last sync may be lost by a power cut.
pub fn sync_dir(dir: &Path) -> Result<(), FileError> {
    sync_file(dir)
}

/// Makes the content of a file durable, whoever wrote it.
///
/// # Errors
/// [`FileError`]; after one, what was written since the last sync may be lost by a power cut, and syncing again may say nothing of
/// that: write it anew.
pub fn sync_file(path: &Path) -> Result<(), FileError> {
    regular::open_to_sync(path).and_then(|file| file.sync_all()).map_err(FileError::at("sync", path))
}
