//! `uwf agent link`: names for the built-in agents, so that they can be called like any other program.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::attempt::agents::{BUILT_IN, BUILT_IN_PREFIX};
use crate::attempt::program;
use crate::error::{AtPath, Error, Result};

/// A name for a built-in agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLink {
    /// The link.
    pub path: PathBuf,
    /// Whether this call created it.
    pub made: bool,
}

/// Creates a link `uwf-NAME` to the program `bin` for every built-in agent, and `dir` if it does not exist. Replaces dangling links,
/// because their program has moved.
///
/// # Errors
/// `Usage` when another program has one of the names; nothing is created then. `Io`.
pub fn link(bin: &Path, dir: &Path) -> Result<Vec<AgentLink>> {
    std::fs::create_dir_all(dir).path_context("create", dir)?;
    let paths = BUILT_IN.map(|name| dir.join(format!("{BUILT_IN_PREFIX}{name}")));
    let taken: Vec<String> = paths
        .iter()
        .filter(|path| path.exists() && !program::is_own(path))
        .map(|path| path.display().to_string())
        .collect();
    if !taken.is_empty() {
        let are = if taken.len() == 1 { "is" } else { "are" };
        return Err(Error::usage(format!("{} {are} another program", taken.join(", ")))
            .hint("nothing was changed; move it away, or choose another directory"));
    }
    paths.into_iter().map(|path| one(bin, path)).collect()
}

fn one(bin: &Path, path: PathBuf) -> Result<AgentLink> {
    if program::is_own(&path) {
        return Ok(AgentLink { path, made: false });
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other.path_context("remove", &path)?,
    }
    symlink(bin, &path).path_context("create", &path)?;
    Ok(AgentLink { path, made: true })
}
