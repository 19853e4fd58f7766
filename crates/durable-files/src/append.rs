//! Appending to a file of lines.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::dirs::{create_dir, dir_of, sync_dir};
use crate::error::FileError;
use crate::regular;

/// Appends one line, durably; `line` has no line break at its end. A last line that a crash left
/// without one is ended first, so that it spoils nothing but itself. The file and its directory
/// are made if need be.
///
/// Callers that may append at the same time hold a lock.
///
/// # Errors
/// [`FileError`]; the line is then taken out again, as far as that works.
pub fn append(path: &Path, line: &str) -> Result<(), FileError> {
    let open =
        |create_new: bool| regular::open_with(OpenOptions::new().read(true).append(true).create_new(create_new), path);
    let (mut file, created) = match open(false) {
        Ok(file) => (file, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(dir_of(path))?;
            (open(true).map_err(FileError::at("create", path))?, true)
        }
        Err(error) => return Err(FileError::at("open", path)(error)),
    };
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !created && is_torn(&mut file).map_err(FileError::at("read", path))? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let before = file.metadata().map_err(FileError::at("look at", path))?.len();
    let appended = file
        .write_all(&bytes)
        .map_err(FileError::at("append to", path))
        .and_then(|()| file.sync_all().map_err(FileError::at("sync", path)))
        .and_then(|()| if created { sync_dir(dir_of(path)) } else { Ok(()) });
    if appended.is_err() {
        // Others would take for durable what they read. Where that fails too, they find part of a line.
        let _ = file.set_len(before);
    }
    appended
}

/// Whether the file has a last line without a line break.
fn is_torn(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}
