//! New files for a person to edit: each is created completely or not at all, and never replaces an existing file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use durable_files::publish_all;
use uwf_engine::error::{AtPath, ErrorKind};

use crate::error::CommandError;

/// A file to create.
pub(crate) struct StarterFile {
    pub(crate) path: PathBuf,
    pub(crate) content: String,
}

/// The result of [`make`].
#[derive(Debug, Default)]
pub(crate) struct StarterFileReport {
    /// Created files.
    pub(crate) written: Vec<PathBuf>,
    /// Existing files with the same content.
    pub(crate) kept: Vec<PathBuf>,
}

/// Creates files. An existing file with the same content is kept, so an interrupted call can be repeated. If one exists with other content,
/// nothing is written.
///
/// # Errors
/// `Usage` if a file exists with other content; `Io`. Files created before an error remain.
pub(crate) fn make(files: &[StarterFile]) -> Result<StarterFileReport, CommandError> {
    let mut others = Vec::new();
    for file in files {
        if standing(file)? == StarterFileState::Other {
            others.push(file.path.as_path());
        }
    }
    if !others.is_empty() {
        return Err(in_the_way(&others));
    }
    let mut made = StarterFileReport::default();
    for file in files {
        let (dir, name) = (file.path.parent().unwrap_or(Path::new(".")), file.path.file_name().unwrap_or_default());
        let published = publish_all(dir, &[(PathBuf::from(name), file.content.as_bytes())])?;
        if published == [true] {
            made.written.push(file.path.clone());
        } else if standing(file)? == StarterFileState::Same {
            made.kept.push(file.path.clone());
        } else {
            // Another process created it in the meantime.
            return Err(in_the_way(&[&file.path]));
        }
    }
    Ok(made)
}

/// The present content at a new file's path.
#[derive(Debug, PartialEq, Eq)]
enum StarterFileState {
    Nothing,
    Same,
    Other,
}

fn standing(file: &StarterFile) -> Result<StarterFileState, CommandError> {
    match fs::symlink_metadata(&file.path) {
        Ok(found) if found.is_file() && found.len() == file.content.len() as u64 => {
            let same = fs::read(&file.path).path_context("read", &file.path)? == file.content.as_bytes();
            Ok(if same { StarterFileState::Same } else { StarterFileState::Other })
        }
        Ok(_) => Ok(StarterFileState::Other),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(StarterFileState::Nothing),
        Err(error) => Err(error).path_context("look at", &file.path)?,
    }
}

fn in_the_way(files: &[&Path]) -> CommandError {
    let named: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let (verb, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
    CommandError::new(ErrorKind::Usage, format!("{} {verb} there already, with another content", named.join(", ")))
        .hint(format!("nothing is overwritten: move {them} away, or choose another name"))
}
