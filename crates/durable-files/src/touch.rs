//! Sets the age of a file.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use crate::error::FileError;

/// Makes a file as young as if it had just been written; `false` if it is missing. A symbolic link is touched itself, not its target. Not
/// durable.
///
/// # Errors
/// [`FileError`]: for example, the file may belong to another user.
pub fn touch(path: &Path) -> Result<bool, FileError> {
    // Set both times, and both to "now": anyone with write permission may do that. Any other change is reserved to the owner.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    match utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::failed_to("touch", path)(error)),
    }
}
