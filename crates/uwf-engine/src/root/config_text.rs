//! The text of `config.yaml` and `.env`.

use std::io::ErrorKind;
use std::path::Path;
use uwf_core::document::FileProblem;

use durable_files::regular;

use crate::error::{Error, Result};

/// The text of a file; empty if the file is missing.
///
/// # Errors
/// `Io`; `Config` when it is not UTF-8.
pub fn read(path: &Path) -> Result<String> {
    match regular::read(path, regular::MAX_TEXT) {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|_| Error::config(format!("{} is not UTF-8 text", path.display())))
        }
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::file("read", path, source)),
    }
}

/// The error for a configuration with errors.
pub(crate) fn invalid(errors: &[FileProblem]) -> Error {
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Error::config(message).hints(hints_of(errors))
}

/// The hints of a configuration's errors.
pub(super) fn hints_of(errors: &[FileProblem]) -> impl Iterator<Item = String> {
    errors.iter().filter_map(|problem| problem.hint.clone())
}
