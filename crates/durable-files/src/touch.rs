//! The age of a file.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use crate::error::FileError;

/// Makes a file as young as if it had been written just now; `false` if it is missing. Of a symbolic link it is the link. Not
/// durable.
///
/// # Errors
/// [`FileError`]: the file may belong to somebody else.
pub fn touch(path: &Path) -> Result<bool, FileError> {
    // Both times, and both "now": whoever may write a file may do that, others than its owner no more.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    match utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::at("touch", path)(error)),
    }
}
