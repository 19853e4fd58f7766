//! The only way to open a file whose path was not just given by a person.
//!
//! A user who can write into a directory can replace a file with something else. Opening a FIFO waits for a writer that never comes, a
//! device may never end, and a sparse file of a terabyte costs nothing to create and all memory to read. So files are opened without
//! waiting, their type is checked, and they are read up to a limit that the reader sets.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::FileError;

/// Maximum size of a text that people write by hand: a configuration, a `.env`, a registry.
pub const MAX_TEXT: u64 = 16 << 20;

/// Maximum size of an index or a journal: some millions of names.
pub const MAX_LIST: u64 = 512 << 20;

/// Maximum size of an object.
pub const MAX_OBJECT: u64 = 512 << 20;

/// Why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegularFileError {
    /// It is not a regular file.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It is larger than the reader's limit.
    #[error("it has more than {limit} bytes, which is the limit for such a file")]
    TooLarge {
        /// In bytes.
        limit: u64,
    },
}

impl RegularFileError {
    /// The reason in an error from this module; `None` for any other error.
    pub fn from_io_error(error: &io::Error) -> Option<RegularFileError> {
        error.get_ref()?.downcast_ref::<RegularFileError>().copied()
    }
}

impl From<RegularFileError> for io::Error {
    fn from(refused: RegularFileError) -> io::Error {
        let kind = match refused {
            RegularFileError::NotRegular(_) => ErrorKind::InvalidInput,
            RegularFileError::TooLarge { .. } => ErrorKind::FileTooLarge,
        };
        io::Error::new(kind, refused)
    }
}

/// Opens a file for reading, without waiting.
///
/// # Errors
/// [`RegularFileError::NotRegular`] if the path is not a regular file; errors of opening it.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file for reading, without waiting; `None` if the file does not exist.
///
/// # Errors
/// [`FileError`], also if the path is not a regular file.
pub fn open_if_there(path: &Path) -> Result<Option<File>, FileError> {
    match open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::failed_to("open", path)(error)),
    }
}

/// Opens a file with `options`, without waiting. If that creates the path, it is a regular file.
///
/// # Errors
/// [`RegularFileError::NotRegular`]; errors of opening the file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = without_waiting(options, path)?;
    // The file may have been created by now. A failed check must not be reported as if nothing had been done.
    file.metadata().map_or(Ok(()), |meta| check(meta.file_type()))?;
    Ok(file)
}

/// Opens a file or directory in order to sync it. Its type is not checked: opened without waiting, it is synced or fails at once.
pub(crate) fn open_to_sync(path: &Path) -> io::Result<File> {
    without_waiting(OpenOptions::new().read(true), path)
}

/// Reads a whole file.
///
/// # Errors
/// [`RegularFileError`] if it is not a regular file or has more than `limit` bytes; errors of reading it. [`RegularFileError::from_io_error`] recognises the first
/// kind.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = without_waiting(OpenOptions::new().read(true), path)?;
    // A file whose metadata can't be read is read anyway: nothing waits, and the limit holds.
    let size = file.metadata().map_or(Ok(0), |meta| check(meta.file_type()).map(|()| meta.len()))?;
    read_open(&file, size, limit)
}

/// Reads a whole file as text.
///
/// # Errors
/// Like [`read`]; `InvalidData` if it is not UTF-8.
pub fn read_to_string(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a whole file that a person named. It may be a pipe, so this may wait.
///
/// # Errors
/// [`RegularFileError::TooLarge`]; errors of reading the file.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(&File::open(path)?, 0, limit)
}

/// Writes new content into a file, which is created if it is missing. Neither durable nor atomic.
///
/// # Errors
/// [`RegularFileError::NotRegular`]; errors of writing the file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    open_with(OpenOptions::new().write(true).create(true).truncate(true), path)?.write_all(bytes)
}

/// Reads the rest of an open file. `size` is its reported size, which may be wrong: files in /proc report 0.
fn read_open(file: &File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(RegularFileError::TooLarge { limit }.into());
    }
    // One extra byte, so that the read reaches the end without growing the buffer.
    let room = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(RegularFileError::TooLarge { limit }.into());
    }
    Ok(bytes)
}

fn without_waiting(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    options.custom_flags(flags.cast_signed()).open(path).map_err(|error| match path.metadata() {
        // A socket can't be opened, and neither can a FIFO without a reader be opened for writing.
        Ok(meta) if Errno::from_io_error(&error) == Some(Errno::NXIO) => match check(meta.file_type()) {
            Err(refused) => refused,
            Ok(()) => error,
        },
        _ => error,
    })
}

fn check(kind: FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        // The error that the system reports for reading a directory.
        return Err(Errno::ISDIR.into());
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(RegularFileError::NotRegular(what).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_regular_files_open_and_open_never_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let socket = dir.path().join("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        let cases = [(fifo.as_path(), "a FIFO"), (&socket, "a socket"), (Path::new("/dev/zero"), "a device")];
        for (path, what) in cases {
            for options in [OpenOptions::new().read(true), OpenOptions::new().append(true).create(true)] {
                let error = open_with(options, path).unwrap_err();
                assert_eq!(
                    RegularFileError::from_io_error(&error),
                    Some(RegularFileError::NotRegular(what)),
                    "{error}"
                );
            }
            assert_eq!(
                RegularFileError::from_io_error(&read(path, 10).unwrap_err()),
                Some(RegularFileError::NotRegular(what))
            );
        }
        assert_eq!(read(dir.path(), 10).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert!(open_to_sync(dir.path()).is_ok());
        assert_eq!(read(&dir.path().join("none"), 10).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(
            RegularFileError::from_io_error(&read(&path, 4).unwrap_err()),
            Some(RegularFileError::TooLarge { limit: 4 })
        );
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(
            RegularFileError::from_io_error(&read(&path, MAX_LIST).unwrap_err()),
            Some(RegularFileError::TooLarge { limit: MAX_LIST })
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_without_reported_size_is_read() {
        assert!(!read(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
        assert!(read(Path::new("/proc/self/status"), 10).is_err());
    }
}
