//! An operation that failed, and the file it failed on.

use std::io;
use std::path::{Path, PathBuf};

/// An operation that failed, and the file it failed on.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// The operation, a verb.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`: `action`, a verb, completes "cannot … PATH".
    pub fn failed_to(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
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
