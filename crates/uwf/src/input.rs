//! Values and texts from an argument, a file or stdin.

use std::io::Read;
use std::path::Path;

use durable_files::regular::{self, MAX_OBJECT, RegularFileError};
use serde_json::Value;
use uwf_core::text::ellipsize;
use uwf_engine::error::{AtPath, Error, ErrorKind};

use crate::error::CommandError;

/// Maximum number of characters shown of an unknown argument.
const MAX_SHOWN: usize = 60;

/// The JSON value of an argument: JSON, or the name of a file, or `-` for stdin. Whether an argument is JSON never depends on existing
/// files; `./true` is a file.
///
/// # Errors
/// `Data` for invalid JSON, with the position; `Io` for an unreadable file; `Usage` if the argument is neither.
pub(crate) fn json(argument: &str) -> Result<Value, CommandError> {
    if argument == "-" {
        return parse(&from_stdin()?, "stdin");
    }
    let error = match json_cas::json_value(argument) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let path = Path::new(argument);
    if path.exists() {
        return parse(&from_file(path)?, argument);
    }
    if argument.trim_start().starts_with(['{', '[', '"']) || argument.trim().parse::<f64>().is_ok() {
        return Err(CommandError::new(ErrorKind::Data, error.to_string()));
    }
    let message = format!("`{}` is neither JSON nor a file", ellipsize(argument, MAX_SHOWN));
    Err(CommandError::usage(message)
        .hint("give JSON, a file with JSON, or - for stdin; a plain text needs its own quotes: '\"text\"'"))
}

/// Parses JSON; `origin` names its source in errors.
///
/// # Errors
/// `Data` with the position: also for duplicate keys, lone surrogates and numbers out of range.
pub(crate) fn parse(text: &str, origin: &str) -> Result<Value, CommandError> {
    json_cas::json_value(text).map_err(|error| CommandError::new(ErrorKind::Data, format!("{origin}: {error}")))
}

/// Reads all of stdin.
///
/// # Errors
/// `Io`; `Data` if it is not UTF-8.
pub(crate) fn from_stdin() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_OBJECT + 1).read_to_end(&mut bytes).path_context("read", "stdin")?;
    if bytes.len() as u64 > MAX_OBJECT {
        return Err(
            Error::file("read", Path::new("stdin"), RegularFileError::TooLarge { limit: MAX_OBJECT }.into()).into()
        );
    }
    utf8(bytes, "stdin")
}

/// Reads a whole file; `-` is stdin.
///
/// # Errors
/// `NotFound`, `Io`; `Data` if it is not UTF-8.
pub(crate) fn from_file(path: &Path) -> Result<String, CommandError> {
    if path == Path::new("-") {
        return from_stdin();
    }
    utf8(regular::read_named(path, MAX_OBJECT).path_context("read", path)?, &path.display().to_string())
}

/// Decodes UTF-8, and drops a byte order mark at the beginning, which is not part of the text.
fn utf8(bytes: Vec<u8>, origin: &str) -> Result<String, CommandError> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::data(format!("{origin} is not UTF-8 text (byte {at})"))
    })?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
