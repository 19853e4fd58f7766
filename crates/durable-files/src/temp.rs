//! Temporary files, which are published once they are whole.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::dirs::create_dir;
use crate::error::FileError;

/// Prefix of temporary file names. Directory listings skip such files.
pub const TEMP_PREFIX: &str = ".tmp-";

/// Permissions requested for new files; the umask removes those that the user doesn't want.
pub(crate) const NEW_FILE_MODE: u32 = 0o666;

/// A temporary file in `dir` that contains `bytes` and is removed when dropped. `dir` is created if it is missing. The file never has more
/// permissions than `mode`. It is not synced yet.
pub(crate) fn written_temp(dir: &Path, bytes: &[u8], mode: u32) -> Result<NamedTempFile, FileError> {
    let create = || {
        tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(dir)
            // tempfile adds the path to the message, which would then contain it twice.
            .map_err(|source| FileError::failed_to("create a file in", dir)(plain(source)))
    };
    let mut temp = match create() {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            create_dir(dir)?;
            create()?
        }
        other => other?,
    };
    temp.as_file_mut().write_all(bytes).map_err(FileError::failed_to("write", temp.path()))?;
    Ok(temp)
}

/// Makes the content of a temporary file durable.
pub(crate) fn sync_temp(temp: &NamedTempFile) -> Result<(), FileError> {
    temp.as_file().sync_all().map_err(FileError::failed_to("sync", temp.path()))
}

/// The error of the operating system, without the path that tempfile added to its text.
pub(crate) fn plain(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path \"") {
        Some((text, _)) => io::Error::new(error.kind(), text.to_owned()),
        None => error,
    }
}
