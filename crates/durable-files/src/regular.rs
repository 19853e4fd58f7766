//! The one way to open files that nobody named just now.
//!
//! Whoever can write into a directory can put something else in the place of a file. Opening a FIFO waits for a writer that
//! never comes, a device may never end, and a sparse file of a terabyte costs nothing to make and all memory to read. So a
//! file is opened without waiting, looked at, and read up to a limit that its reader names.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::FileError;

/// Most bytes of a text that people write by hand: a configuration, a `.env`, a registry.
pub const MAX_TEXT: u64 = 16 << 20;

/// Most bytes of an index or a journal: some millions of names.
pub const MAX_LIST: u64 = 512 << 20;

/// Most bytes of an object.
pub const MAX_OBJECT: u64 = 512 << 20;

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is something else than a file.
    #[error("it is {0}, not a regular file")]
    NotRegular(&'static str),
    /// It is larger than its reader takes.
    #[error("it has more than {limit} bytes, which is the limit for such a file")]
    TooLarge {
        /// In bytes.
        limit: u64,
    },
}

impl Refused {
    /// What an error says that came from this module; `None` for any other.
    pub fn of(error: &io::Error) -> Option<Refused> {
        error.get_ref()?.downcast_ref::<Refused>().copied()
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        let kind = match refused {
            Refused::NotRegular(_) => ErrorKind::InvalidInput,
            Refused::TooLarge { .. } => ErrorKind::FileTooLarge,
        };
        io::Error::new(kind, refused)
    }
}

/// Opens a file for reading, without waiting.
///
/// # Errors
/// [`Refused::NotRegular`] when something else is in its place, and those of opening.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file for reading, without waiting; `None` when there is no such file.
///
/// # Errors
/// [`FileError`], also when something else is in its place.
pub fn open_if_there(path: &Path) -> Result<Option<File>, FileError> {
    match open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::at("open", path)(error)),
    }
}

/// Opens a file as `options` say, without waiting. A path that is made by it is made as a regular file.
///
/// # Errors
/// [`Refused::NotRegular`], and those of opening.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = without_waiting(options, path)?;
    // By now it may have been made, so a look that fails must not be reported as if nothing had been done.
    file.metadata().map_or(Ok(()), |meta| check(meta.file_type()))?;
    Ok(file)
}

/// Opens a file or a directory that is to be synced. It is not looked at: what waits for nothing is synced or fails at once.
pub(crate) fn open_to_sync(path: &Path) -> io::Result<File> {
    without_waiting(OpenOptions::new().read(true), path)
}

/// All of a file.
///
/// # Errors
/// [`Refused`] when it is not a regular file or has more than `limit` bytes, and those of reading. [`Refused::of`]
/// recognises the first.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = without_waiting(OpenOptions::new().read(true), path)?;
    // What cannot be looked at is read all the same: nothing waits, and the limit holds.
    let size = file.metadata().map_or(Ok(0), |meta| check(meta.file_type()).map(|()| meta.len()))?;
    read_open(&file, size, limit)
}

/// All of a file as text.
///
/// # Errors
/// As [`read`]; `InvalidData` when it is not UTF-8.
pub fn read_to_string(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// All of what a person named: it may be a pipe, and be waited for.
///
/// # Errors
/// [`Refused::TooLarge`], and those of reading.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(&File::open(path)?, 0, limit)
}

/// Puts new content into a file, which is made if need be. Neither durable nor at once.
///
/// # Errors
/// [`Refused::NotRegular`], and those of writing.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    open_with(OpenOptions::new().write(true).create(true).truncate(true), path)?.write_all(bytes)
}

/// What is left of an open file that has `size` bytes, or said so: files of /proc say 0.
fn read_open(file: &File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(Refused::TooLarge { limit }.into());
    }
    // One byte more, so that the end is met without asking for more room.
    let room = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Refused::TooLarge { limit }.into());
    }
    Ok(bytes)
}

fn without_waiting(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    options.custom_flags(flags.cast_signed()).open(path).map_err(|error| match path.metadata() {
        // A socket cannot be opened, nor can a FIFO be for writing while nobody reads.
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
        // As the system says it when a directory is read.
        return Err(Errno::ISDIR.into());
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(Refused::NotRegular(what).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    #[test]
    fn only_a_file_is_opened_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let socket = dir.path().join("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        let cases = [(fifo.as_path(), "a FIFO"), (&socket, "a socket"), (Path::new("/dev/zero"), "a device")];
        for (path, what) in cases {
            for options in [OpenOptions::new().read(true), OpenOptions::new().append(true).create(true)] {
                let error = open_with(options, path).unwrap_err();
                assert_eq!(Refused::of(&error), Some(Refused::NotRegular(what)), "{error}");
            }
            assert_eq!(Refused::of(&read(path, 10).unwrap_err()), Some(Refused::NotRegular(what)));
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
        assert_eq!(Refused::of(&read(&path, 4).unwrap_err()), Some(Refused::TooLarge { limit: 4 }));
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(Refused::of(&read(&path, MAX_LIST).unwrap_err()), Some(Refused::TooLarge { limit: MAX_LIST }));
        // Its size is said to be 0.
        assert!(!read(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
        assert!(read(Path::new("/proc/self/status"), 10).is_err());
    }
}
