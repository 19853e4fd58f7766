//! Signs that a file changed, by what the file system says of it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the file system says of a file; `None` when there is none. A file that is replaced has another inode, one that is added
/// to another size, so that two changes within a tick of its clock differ.
pub(crate) type FileSign = Option<(u64, u64, i64, i64)>;

/// The sign of a file. It costs one system call.
pub(crate) fn of(path: &Path) -> FileSign {
    let meta = path.metadata().ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}
