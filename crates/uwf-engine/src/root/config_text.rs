//! The text of `config.yaml` and `.env`.

use std::io::ErrorKind;
use std::path::Path;

use durable_files::regular;

use crate::error::{Error, Kind, Result};

/// The text of a file; empty when there is none.
///
/// # Errors
/// `Io`; `Config` when it is not UTF-8.
pub fn read(path: &Path) -> Result<String> {
    match regular::read(path, regular::MAX_TEXT) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| Error::new(Kind::Config, format!("{} is not UTF-8 text", path.display()))),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::io("read", path, source)),
    }
}
