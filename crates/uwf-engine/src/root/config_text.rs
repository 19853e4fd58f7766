//! The text of `config.yaml` and `.env`.

use std::io::ErrorKind;
use std::path::Path;

use durable_files::regular;

use crate::root::error::{Result, RootError};

/// The text of a file; empty when there is none.
///
/// # Errors
/// `Io`; `Config` when it is not UTF-8.
pub fn read(path: &Path) -> Result<String> {
    match regular::read(path, regular::MAX_TEXT) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| RootError::NotText(path.to_owned())),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(RootError::file("read", path, source)),
    }
}
