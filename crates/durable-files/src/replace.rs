//! Replaces files as a whole.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::dirs::{dir_of, sync_dir};
use crate::error::FileError;
use crate::temp::{NEW_FILE_MODE, plain, sync_temp, written_temp};

/// Permissions of a private file.
const PRIVATE_MODE: u32 = 0o600;

/// Permission bits, without the file type.
const MODE_BITS: u32 = 0o7777;

/// Replaces the content of `path` atomically and durably: readers see the old content or the new, never a part. An existing file keeps its
/// permissions, and a symbolic link stays one. The directory is created if it is missing.
///
/// # Errors
/// [`FileError`]; the old content is then untouched.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let (target, mode) = existing(path)?;
    put(&target, bytes, mode)?;
    sync_dir(dir_of(&target))
}

/// Like [`replace`], but only the owner can read the file, from the first moment on, whatever its permissions were.
pub fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let (target, _) = existing(path)?;
    put(&target, bytes, Some(PRIVATE_MODE))?;
    sync_dir(dir_of(&target))
}

/// Like [`replace`], but a symbolic link is replaced itself, not its target.
pub fn replace_itself(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes, None)?;
    sync_dir(dir_of(path))
}

/// The file that `path` names after following links, and its permissions.
fn existing(path: &Path) -> Result<(PathBuf, Option<u32>), FileError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((path.to_owned(), None)),
        Err(error) => return Err(FileError::failed_to("look at", path)(error)),
    };
    if !metadata.is_symlink() {
        return Ok((path.to_owned(), Some(metadata.permissions().mode() & MODE_BITS)));
    }
    let target = fs::canonicalize(path).map_err(FileError::failed_to("follow the link", path))?;
    let metadata = fs::metadata(&target).map_err(FileError::failed_to("look at", &target))?;
    Ok((target, Some(metadata.permissions().mode() & MODE_BITS)))
}

/// Replaces `path` with new content, whole and synced. The directory is not synced yet.
fn put(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), FileError> {
    let dir = dir_of(path);
    let temp = written_temp(dir, bytes, mode.unwrap_or(NEW_FILE_MODE))?;
    if let Some(mode) = mode {
        // The umask may have removed permissions that the file had.
        let permissions = fs::Permissions::from_mode(mode);
        temp.as_file()
            .set_permissions(permissions)
            .map_err(FileError::failed_to("set the permissions of", temp.path()))?;
    }
    sync_temp(&temp)?;
    temp.persist(path).map(drop).map_err(|error| FileError::failed_to("replace", path)(plain(error.error)))
}
