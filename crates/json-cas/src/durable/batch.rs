//! Publishing many new files with one directory sync.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{FileError, create_dir, plain, synced_temp};

/// Writes new files into `dir`, which is made if need be: all are written and synced, then all
/// published, then the directory is synced once. A name that exists is left alone. Gives per file
/// whether it was published. An empty list only syncs the directory.
///
/// # Errors
/// [`FileError`]; files published before the error stay.
pub fn publish_all(dir: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<bool>, FileError> {
    let mut temps = Vec::with_capacity(files.len());
    for (_, bytes) in files {
        temps.push(match synced_temp(dir, bytes) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
                create_dir(dir)?;
                synced_temp(dir, bytes)?
            }
            other => other?,
        });
    }
    let mut published = Vec::with_capacity(files.len());
    for ((name, _), temp) in files.iter().zip(temps) {
        let path = dir.join(name);
        match temp.persist_noclobber(&path) {
            Ok(_) => published.push(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                published.push(false);
            }
            Err(error) => return Err(FileError::at("publish", &path)(plain(error.error))),
        }
    }
    match sync_dir(dir) {
        Err(error) if files.is_empty() && error.source.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    Ok(published)
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// [`FileError`].
pub fn sync_dir(dir: &Path) -> Result<(), FileError> {
    sync_file(dir)
}

/// Makes the content of a file durable, whoever wrote it.
///
/// # Errors
/// [`FileError`].
pub fn sync_file(path: &Path) -> Result<(), FileError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(FileError::at("sync", path))
}
