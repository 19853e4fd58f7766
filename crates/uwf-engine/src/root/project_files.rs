//! `.workflows`: the directory of a project's own workflow files and of its configuration.

use std::path::{Path, PathBuf};

/// Directory of a project's own workflow files.
pub const DIR: &str = ".workflows";

/// The project's configuration, in the same directory.
pub(crate) const CONFIG: &str = "config.yaml";

/// Names of the project's workflow files with their paths, sorted.
pub fn all(cwd: &Path) -> Vec<(String, PathBuf)> {
    dir(cwd).map(|dir| in_dir(&dir)).unwrap_or_default()
}

/// Names of the workflow files of a directory with their paths, sorted.
pub fn in_dir(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<(String, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| has_workflow_extension(path) && path.is_file() && !is_config(path))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    files
}

/// Whether a file is the configuration of a project, which lies beside its workflows.
pub(crate) fn is_config(path: &Path) -> bool {
    path.ends_with(Path::new(DIR).join(CONFIG))
}

/// The project's `.workflows`: the search never leaves the repository.
pub fn dir(cwd: &Path) -> Option<PathBuf> {
    for dir in cwd.ancestors() {
        let candidate = dir.join(DIR);
        if candidate.is_dir() {
            return Some(candidate);
        }
        // `.git` is a file in worktrees and submodules.
        if dir.join(".git").exists() {
            return None;
        }
    }
    None
}

pub(crate) fn has_workflow_extension(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| matches!(extension, "yaml" | "yml" | "json"))
}
