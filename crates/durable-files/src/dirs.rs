//! Makes directories, names and contents durable.

use std::path::Path;

use crate::error::FileError;
use crate::regular;

/// Creates a directory and its parents, durably.
pub(crate) fn create_dir(dir: &Path) -> Result<(), FileError> {
    let made: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    std::fs::create_dir_all(dir).map_err(FileError::failed_to("create the directory", dir))?;
    for new in made {
        sync_dir(dir_of(new))?;
    }
    Ok(())
}

/// The directory that contains a file.
pub(crate) fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// [`FileError`]; a power cut may then lose names that were created or changed since the last sync.
pub fn sync_dir(dir: &Path) -> Result<(), FileError> {
    sync_file(dir)
}

/// Makes the content of a file durable, no matter which process wrote it.
///
/// # Errors
/// [`FileError`]; a power cut may then lose what was written since the last sync. Don't just sync again, because a second sync may succeed
/// although the data was lost: write the file again.
pub fn sync_file(path: &Path) -> Result<(), FileError> {
    regular::open_to_sync(path).and_then(|file| file.sync_all()).map_err(FileError::failed_to("sync", path))
}
