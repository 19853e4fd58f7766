//! Temporary files of processes that died.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{FileError, TEMP_PREFIX};

/// Removes temporary files in `dir` that are older than `age`; gives how many. A younger one may
/// be one that a running process is about to publish, so an hour is a good age.
///
/// # Errors
/// [`FileError`]; a file that is gone meanwhile is none.
pub fn remove_leftovers(dir: &Path, age: Duration) -> Result<usize, FileError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(FileError::at("list", dir)(error)),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(FileError::at("list", dir))?;
        if !entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX) {
            continue;
        }
        let path = entry.path();
        let is_old = |modified: std::time::SystemTime| modified.elapsed().is_ok_and(|elapsed| elapsed >= age);
        match entry.metadata().and_then(|metadata| metadata.modified()) {
            Ok(modified) if !is_old(modified) => continue,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(FileError::at("look at", &path)(error)),
        }
        match fs::remove_file(&path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::at("remove", &path)(error)),
        }
    }
    Ok(removed)
}
