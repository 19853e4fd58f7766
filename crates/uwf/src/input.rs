//! Values and texts that come from an argument, a file or stdin.

use std::io::Read;
use std::path::Path;

use durable_files::regular::{self, MAX_OBJECT, Refused};
use serde_json::Value;
use uwf_core::text::ellipsize;
use uwf_engine::error::{AtPath, Error, ErrorKind};

use crate::error::CommandError;

/// Characters shown of an argument that is nothing known.
const MAX_SHOWN: usize = 60;

/// The JSON value an argument stands for: JSON itself, else the name of a file, or `-` for stdin. Whether an argument is
/// JSON never depends on which files there are; `./true` is a file.
///
/// # Errors
/// `Data` for bad JSON, with the place; `Io` for a file that cannot be read; `Usage` when it is neither.
pub(crate) fn json(argument: &str) -> Result<Value, CommandError> {
    if argument == "-" {
        return parse(&from_stdin()?, "stdin");
    }
    let error = match json_cas::json::parse(argument) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let path = Path::new(argument);
    if path.exists() {
        return parse(&from_file(path)?, argument);
    }
    if argument.trim_start().starts_with(['{', '[', '"']) || error.reason.contains("out of range") {
        return Err(CommandError::new(ErrorKind::Data, error.to_string()));
    }
    let message = format!("`{}` is neither JSON nor a file", ellipsize(argument, MAX_SHOWN));
    Err(CommandError::usage(message)
        .hint("give JSON, a file with JSON, or - for stdin; a plain text needs quotes of its own: '\"text\"'"))
}

/// The JSON value in a text; `origin` says where it is from.
///
/// # Errors
/// `Data` with the place: also for duplicate keys, lone surrogates and numbers out of range.
pub(crate) fn parse(text: &str, origin: &str) -> Result<Value, CommandError> {
    json_cas::json::parse(text).map_err(|error| CommandError::new(ErrorKind::Data, format!("{origin}: {error}")))
}

/// All of stdin.
///
/// # Errors
/// `Io`; `Data` when it is not UTF-8.
pub(crate) fn from_stdin() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_OBJECT + 1).read_to_end(&mut bytes).at("read", "stdin")?;
    if bytes.len() as u64 > MAX_OBJECT {
        return Err(Error::file("read", Path::new("stdin"), Refused::TooLarge { limit: MAX_OBJECT }.into()).into());
    }
    utf8(bytes, "stdin")
}

/// All of a file; `-` is stdin.
///
/// # Errors
/// `NotFound`, `Io`; `Data` when it is not UTF-8.
pub(crate) fn from_file(path: &Path) -> Result<String, CommandError> {
    if path == Path::new("-") {
        return from_stdin();
    }
    utf8(regular::read_named(path, MAX_OBJECT).at("read", path)?, &path.display().to_string())
}

/// The text. The byte order mark that some programs put before one says how it is encoded and is no part of it.
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
