//! A lock between processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::dirs::{create_dir, dir_of};
use crate::error::FileError;
use crate::regular;

/// Time between two attempts. In a tight loop, the attempts themselves would look like a held lock to other processes.
const PROBE: Duration = Duration::from_micros(500);

/// Width to which an owner line is padded: more than a process id needs.
const OWNER_WIDTH: usize = 24;

/// Longest owner line read back, in bytes.
const MAX_OWNER: u64 = 4096;

/// Who else may hold a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Other shared holders.
    Shared,
    /// No other process.
    Exclusive,
}

/// A lock on a file or directory, held until it is dropped or the process ends. Child processes do not inherit it. The file is never
/// unlinked, because a lock on an unlinked file excludes no other process.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock, retrying for up to `wait`; `None` if others held it all that time. The file and its directory are created if they
    /// are missing.
    ///
    /// # Errors
    /// [`FileError`] if the file can't be created or locked at all: its directory is not writable, or the file system has no locks.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Option<FileLock>, FileError> {
        let start = Instant::now();
        loop {
            if let Some(lock) = FileLock::lock(open(path)?, path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= wait {
                return Ok(None);
            }
            thread::sleep(PROBE);
        }
    }

    /// Locks a directory itself, retrying for up to `wait`; `None` if others held the lock all that time. The directory is created if it
    /// is missing; no lock file is.
    pub fn acquire_dir(dir: &Path, access: LockMode, wait: Duration) -> Result<Option<FileLock>, FileError> {
        let start = Instant::now();
        loop {
            if let Some(lock) = FileLock::lock_for(open_dir(dir)?, dir, access)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= wait {
                return Ok(None);
            }
            thread::sleep(PROBE);
        }
    }

    /// One attempt to lock a file that was opened at `path`.
    fn lock(file: File, path: &Path) -> Result<Option<FileLock>, FileError> {
        FileLock::lock_for(file, path, LockMode::Exclusive)
    }

    fn lock_for(file: File, path: &Path, access: LockMode) -> Result<Option<FileLock>, FileError> {
        let tried = match access {
            LockMode::Shared => file.try_lock_shared(),
            LockMode::Exclusive => file.try_lock(),
        };
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(FileError::failed_to("lock", path)(error)),
        }
        // Another process may have removed or replaced the file between opening and locking.
        if is_at(&file, path).map_err(FileError::failed_to("look at", path))? {
            Ok(Some(FileLock { file, path: path.to_owned() }))
        } else {
            Ok(None)
        }
    }

    /// Writes one line into the lock file, for processes that find it locked. Not durable.
    ///
    /// # Errors
    /// [`FileError`]; the lock is still held.
    pub fn write_owner(&self, owner: &str) -> Result<(), FileError> {
        // Padded to a fixed width, so that the file need not be truncated first: on a busy disk, truncating waits for the journal.
        let line = format!("{:<OWNER_WIDTH$}\n", owner.replace('\n', " "));
        let is_longer = self.file.metadata().is_ok_and(|meta| meta.len() > line.len() as u64);
        let emptied = if is_longer { self.file.set_len(0) } else { Ok(()) };
        emptied
            .and_then(|()| self.file.write_all_at(line.as_bytes(), 0))
            .map_err(FileError::failed_to("write", &self.path))
    }

    /// Whether nothing was ever written into the lock file.
    pub fn is_blank(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.len() == 0)
    }

    /// The line that the current or the previous holder wrote into a lock file; `None` if there is no line or no file.
    ///
    /// # Errors
    /// [`FileError`] if the file can't be read.
    pub fn owner(path: &Path) -> Result<Option<String>, FileError> {
        let Some(file) = regular::open_if_there(path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(MAX_OWNER).read_to_end(&mut bytes).map_err(FileError::failed_to("read", path))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().next().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned))
    }

    /// Whether a process holds the lock now. Never creates the file.
    ///
    /// # Errors
    /// [`FileError`] if that can't be determined: assume that the lock is held.
    pub fn is_held(path: &Path) -> Result<bool, FileError> {
        let Some(file) = regular::open_if_there(path)? else {
            return Ok(false);
        };
        // A shared lock, so that two probes don't block each other.
        match file.try_lock_shared() {
            Ok(()) => {
                file.unlock().map_err(FileError::failed_to("unlock", path))?;
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(FileError::failed_to("lock", path)(error)),
        }
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Explicit, because a descriptor that leaked into a child process would keep the lock. An error can't be handled, and the file is
        // closed next anyway.
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> Result<File, FileError> {
    let open = || regular::open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(dir_of(path))?;
            open().map_err(FileError::failed_to("create", path))
        }
        other => other.map_err(FileError::failed_to("open", path)),
    }
}

fn open_dir(dir: &Path) -> Result<File, FileError> {
    match regular::open_to_sync(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(dir)?;
            regular::open_to_sync(dir).map_err(FileError::failed_to("open", dir))
        }
        other => other.map_err(FileError::failed_to("open", dir)),
    }
}

/// Whether `path` still names `file`.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((held.dev(), held.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes open the file. One of them locks, removes and releases it. The other one would then lock a file that no other process
    /// can find.
    #[test]
    fn lock_on_unlinked_file_does_not_count() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("lock");
        let opened = open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(FileLock::lock(opened, &path).unwrap().is_none(), "removed");
        let opened = open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _replaced = open(&path).unwrap();
        assert!(FileLock::lock(opened, &path).unwrap().is_none(), "replaced");
        assert!(FileLock::lock(open(&path).unwrap(), &path).unwrap().is_some());
    }
}
