//! Publishes many new files with one directory sync.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use uwf_platform::host;

use crate::dirs::sync_dir;
use crate::error::FileError;
use crate::temp::{NEW_FILE_MODE, plain, sync_temp, written_temp};

/// Files open at the same time. A batch may have more files than a process may open.
const MAX_OPEN: usize = 64;

/// Writes, syncs and publishes new files in `dir`, then syncs the directory once. Returns for each file whether it was published: existing
/// files are left alone. `dir` is created if it is missing. With an empty list, only the directory is synced.
///
/// # Errors
/// [`FileError`]; files published before the error stay. Repeat the call to publish the rest.
pub fn publish_all(dir: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<bool>, FileError> {
    let mut published = Vec::with_capacity(files.len());
    for some in files.chunks(MAX_OPEN) {
        publish_some(dir, some, &mut published)?;
    }
    match sync_dir(dir) {
        Err(error) if files.is_empty() && error.source.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    Ok(published)
}

fn publish_some(dir: &Path, files: &[(PathBuf, &[u8])], published: &mut Vec<bool>) -> Result<(), FileError> {
    let temps = files
        .iter()
        .map(|(_, bytes)| written_temp(dir, bytes, NEW_FILE_MODE))
        .collect::<Result<Vec<_>, FileError>>()?;
    sync_temps(&temps)?;
    for ((name, _), temp) in files.iter().zip(temps) {
        let path = dir.join(name);
        match temp.persist_noclobber(&path) {
            Ok(_) => published.push(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => published.push(false),
            Err(error) => return Err(FileError::failed_to("publish", &path)(plain(error.error))),
        }
    }
    Ok(())
}

/// Syncs all files, after asking the system to start writing all of them. The file system then commits once, not once per file.
fn sync_temps(temps: &[NamedTempFile]) -> Result<(), FileError> {
    if temps.len() > 1 {
        temps.iter().for_each(|temp| host().begin_writing(temp.as_file()));
    }
    temps.iter().try_for_each(sync_temp)
}
