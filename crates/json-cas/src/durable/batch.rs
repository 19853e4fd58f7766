//! Publishing many new files with one directory sync.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::NamedTempFile;

use super::{FileError, NEW_FILE_MODE, plain, sync_temp, written_temp};

/// Files open at the same time; a batch may be larger than what a process may open.
const MAX_OPEN: usize = 64;

/// Syncs under way at the same time.
const SYNC_THREADS: usize = 3;

/// Writes new files into `dir`, which is made if need be: they are written, synced, published, and
/// then the directory is synced once. A name that exists is left alone. Gives per file whether it
/// was published. An empty list only syncs the directory.
///
/// # Errors
/// [`FileError`]; files published before the error stay.
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

/// Syncs after all are written, and several at a time: the file system commits them together, which on a busy disk takes
/// half as long as one after the other.
fn sync_temps(temps: &[NamedTempFile]) -> Result<(), FileError> {
    if temps.len() < SYNC_THREADS {
        return temps.iter().try_for_each(sync_temp);
    }
    let share = temps.len().div_ceil(SYNC_THREADS);
    thread::scope(|scope| {
        let mut shares = temps.chunks(share);
        let own = shares.next().unwrap_or_default();
        let mut threads = Vec::new();
        let mut result = Ok(());
        for share in shares {
            match thread::Builder::new().spawn_scoped(scope, || share.iter().try_for_each(sync_temp)) {
                Ok(thread) => threads.push(thread),
                // A machine that gives no more threads can still sync.
                Err(_) => result = result.and_then(|()| share.iter().try_for_each(sync_temp)),
            }
        }
        result = result.and_then(|()| own.iter().try_for_each(sync_temp));
        for thread in threads {
            // A thread of ours does not panic; if it did, its files were not synced.
            let synced = thread
                .join()
                .unwrap_or_else(|_| Err(FileError::at("sync", temps[0].path())(io::ErrorKind::Other.into())));
            result = result.and(synced);
        }
        result
    })
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
