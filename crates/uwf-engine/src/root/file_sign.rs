//! Detects changes of a file by its metadata.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's metadata; `None` if it doesn't exist. Inode and size distinguish changes within one tick of the file
/// system's clock.
pub(crate) type FileSign = Option<(u64, u64, i64, i64)>;

/// Reads the sign of a file with one system call.
pub(crate) fn read_file_sign(path: &Path) -> FileSign {
    let meta = path.metadata().ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}
