//! Temporary files of processes that died.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::FileError;
use crate::temp::TEMP_PREFIX;

/// Temporary files in `dir` that are older than `age`. A file dated more than `age` in the future counts as well, because the clock was
/// set back since. A running process may be about to publish any other file; an hour is a good `age`.
///
/// # Errors
/// [`FileError`] if the directory can't be listed. A missing directory has no leftovers, and files that are removed meanwhile are skipped.
pub fn leftovers(dir: &Path, age: Duration) -> Result<Vec<PathBuf>, FileError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::failed_to("list", dir)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(FileError::failed_to("list", dir))?;
        if !entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX) {
            continue;
        }
        let is_old = |modified: SystemTime| modified.elapsed().unwrap_or_else(|ahead| ahead.duration()) >= age;
        match entry.metadata().and_then(|metadata| metadata.modified()) {
            Ok(modified) if is_old(modified) => found.push(entry.path()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::failed_to("look at", &entry.path())(error)),
        }
    }
    Ok(found)
}

/// Removes what [`leftovers`] finds and returns the number of removed files.
pub fn remove_leftovers(dir: &Path, age: Duration) -> Result<usize, FileError> {
    let mut removed = 0;
    for path in leftovers(dir, age)? {
        match fs::remove_file(&path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::failed_to("remove", &path)(error)),
        }
    }
    Ok(removed)
}
