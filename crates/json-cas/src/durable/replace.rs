//! Replacing a file as a whole.

use std::fs;
use std::io;
use std::path::Path;

use super::{FileError, create_dir, dir_of, plain, sync_dir, synced_temp};

/// Gives `path` the content `bytes`, durably and at once: a reader sees the old content or the
/// new, never a part. An existing file keeps its permissions, a symbolic link stays one. The
/// directory is made if need be.
///
/// # Errors
/// [`FileError`]; the old content is then untouched.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let existing = match fs::symlink_metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(FileError::at("look at", path)(error)),
    };
    let Some(metadata) = existing else {
        return put(path, bytes, None);
    };
    if metadata.is_symlink() {
        let target = fs::canonicalize(path).map_err(FileError::at("follow the link", path))?;
        let metadata = fs::metadata(&target).map_err(FileError::at("look at", &target))?;
        return put(&target, bytes, Some(metadata.permissions()));
    }
    put(path, bytes, Some(metadata.permissions()))
}

fn put(path: &Path, bytes: &[u8], mode: Option<fs::Permissions>) -> Result<(), FileError> {
    let dir = dir_of(path);
    let temp = match synced_temp(dir, bytes) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            create_dir(dir)?;
            synced_temp(dir, bytes)?
        }
        other => other?,
    };
    if let Some(mode) = mode {
        temp.as_file().set_permissions(mode).map_err(FileError::at("set the permissions of", temp.path()))?;
    }
    temp.persist(path).map_err(|error| FileError::at("replace", path)(plain(error.error)))?;
    sync_dir(dir)
}
