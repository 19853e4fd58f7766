//! Publishing many new files with one directory sync.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::dirs::sync_dir;
use crate::error::FileError;
use crate::temp::{NEW_FILE_MODE, plain, sync_temp, written_temp};

/// Files open at the same time; a batch may be larger than what a process may open.
const MAX_OPEN: usize = 64;

/// Writes new files into `dir`, which is made if need be: they are written, synced, published, and
/// then the directory is synced once. A name that exists is left alone. Gives per file whether it
/// was published. An empty list only syncs the directory.
///
/// # Errors
/// [`FileError`]; files published before the error stay. The same call again publishes the others.
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
            Err(error) => return Err(FileError::at("publish", &path)(plain(error.error))),
        }
    }
    Ok(())
}

/// Syncs after all are written. The system is first asked to begin with all of them, so that the file system has one thing to
/// commit and not one for each file.
fn sync_temps(temps: &[NamedTempFile]) -> Result<(), FileError> {
    if temps.len() > 1 {
        temps.iter().for_each(|temp| begin_writing(temp.as_file()));
    }
    temps.iter().try_for_each(sync_temp)
}

/// Asks the system to begin writing a file to the disk. It is a hint: the sync does whatever has not been done.
fn begin_writing(file: &File) {
    // Linux begins to write pages that are said not to be needed any more. It forgets whole pages only, and one byte is none.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, std::num::NonZeroU64::new(1), rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}
