//! Detects changes of a file by its metadata.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's metadata. Inode and size distinguish changes within one tick of the file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileSign {
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: i64,
    pub(crate) nanos: i64,
}

impl FileSign {
    /// Reads the sign of a file with one system call; `None` if it doesn't exist.
    pub(crate) fn from_file(path: &Path) -> Option<FileSign> {
        let meta = path.metadata().ok()?;
        Some(FileSign { inode: meta.ino(), bytes: meta.len(), seconds: meta.mtime(), nanos: meta.mtime_nsec() })
    }

    /// When the file changed, Unix milliseconds; `None` before 1970.
    pub(crate) fn changed_ms(&self) -> Option<u64> {
        u64::try_from(self.seconds.checked_mul(1000)? + self.nanos / 1_000_000).ok()
    }
}
