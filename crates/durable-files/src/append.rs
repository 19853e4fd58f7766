//! Appending to a file of lines.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::dirs::{create_dir, dir_of, sync_dir};
use crate::error::FileError;
use crate::regular;

/// Appends one line durably. `line` must not end with a line break. The file and its directory are created if they are missing.
///
/// If a crash left the last line without a line break, that line is ended first, so that it can't spoil the new one.
///
/// Callers that may append at the same time must hold a lock.
///
/// # Errors
/// [`FileError`]; the line is removed again if possible.
pub fn append(path: &Path, line: &str) -> Result<(), FileError> {
    let open =
        |create_new: bool| regular::open_with(OpenOptions::new().read(true).append(true).create_new(create_new), path);
    let (mut file, created) = match open(false) {
        Ok(file) => (file, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(dir_of(path))?;
            (open(true).map_err(FileError::failed_to("create", path))?, true)
        }
        Err(error) => return Err(FileError::failed_to("open", path)(error)),
    };
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !created && is_torn(&mut file).map_err(FileError::failed_to("read", path))? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let before = file.metadata().map_err(FileError::failed_to("look at", path))?.len();
    let appended = file
        .write_all(&bytes)
        .map_err(FileError::failed_to("append to", path))
        .and_then(|()| file.sync_all().map_err(FileError::failed_to("sync", path)))
        .and_then(|()| if created { sync_dir(dir_of(path)) } else { Ok(()) });
    if appended.is_err() {
        // Readers would take the unsynced line for durable. If truncating fails as well, they find part of a line.
        let _ = file.set_len(before);
    }
    appended
}

/// Whether the last line lacks a line break.
fn is_torn(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}
