//! Files for the user's shell and manual, written to the directories where these look.

use std::path::{Path, PathBuf};

use serde_json::json;
use uwf_engine::error::{AtPath, ErrorKind};

use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// A file to write.
pub(crate) struct InstallFile {
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
}

/// Writes files and reports their paths.
pub(crate) fn install(files: &[InstallFile], dry_run: bool, todo: Option<String>) -> CommandResult {
    for InstallFile { path, content } in files.iter().filter(|_| !dry_run) {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).path_context("create", dir)?;
        }
        std::fs::write(path, content).path_context("write", path)?;
    }
    let files: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
    let verb = if dry_run { "would write" } else { "wrote" };
    let mut text: String = match files.as_slice() {
        [first, .., last] => format!("{verb} {} files, {first} to {last}\n", files.len()),
        files => files.iter().map(|file| format!("{verb} {file}\n")).collect(),
    };
    let mut value = json!({ "files": files, "dryRun": dry_run });
    if let Some(todo) = todo {
        text.push_str(&format!("{todo}\n"));
        value["todo"] = todo.into();
    }
    Ok(PrintableReport::value_with_text(value, text))
}

/// A directory of the user: the value of a variable, or a path below the home directory.
pub(crate) fn dir(variable: &str, below_home: &str) -> Result<PathBuf, CommandError> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map(|home| home.join(below_home));
    set(variable).or_else(home).ok_or_else(|| {
        CommandError::new(ErrorKind::Config, "cannot find the home directory to install to: HOME is not set")
            .hint("without --install the same is printed")
    })
}

/// A path, with `~` for the home directory.
pub(crate) fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
