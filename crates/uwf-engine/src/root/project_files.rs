//! A project: a git repository, or a directory with `.workflows`, which has the project's own workflow files and its configuration.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use durable_files::regular;
use serde::Deserialize;
use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::root::record;
use crate::root::worktree::Worktree;

/// Directory of a project's own workflow files.
pub const DIR: &str = ".workflows";

/// The project's configuration, in the same directory.
pub const CONFIG: &str = "config.yaml";

/// The configuration of one person in a project, in the same directory. It overrides [`CONFIG`] and is not committed.
pub(crate) const LOCAL_CONFIG: &str = "config.local.yaml";

/// The directory of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectRoot(PathBuf);

impl ProjectRoot {
    /// The project that a directory belongs to: the repository around it, or else the directory with `.workflows`. For a directory in a
    /// worktree, it is the project that the worktree was created from.
    pub fn of_dir(home: &Home, dir: &Path) -> Option<ProjectRoot> {
        let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let dir = real(&origin(home, &real(dir)));
        // `.git` is a file in worktrees and submodules.
        let with = |name: &str| dir.ancestors().find(|dir| dir.join(name).exists());
        let repository = with(".git").map(|root| main_worktree(root).unwrap_or_else(|| root.to_owned()));
        repository.or_else(|| with(DIR).map(Path::to_owned)).map(ProjectRoot)
    }

    /// The project that a thread works in, as its record on this machine says.
    pub fn of_thread(home: &Home, thread: &ThreadId) -> Option<ProjectRoot> {
        ProjectRoot::of_dir(home, &workspace(home, thread)?)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// The name of the directory.
    pub fn name(&self) -> String {
        self.0.file_name().unwrap_or(self.0.as_os_str()).to_string_lossy().into_owned()
    }

    /// Returns a check whether a thread works in the project. It looks at each directory only once.
    pub(crate) fn membership(&self, home: &Home) -> impl FnMut(&ThreadId) -> bool {
        let mut known = HashMap::new();
        move |thread| {
            workspace(home, thread).is_some_and(|workspace| {
                *known
                    .entry(workspace)
                    .or_insert_with_key(|workspace| ProjectRoot::of_dir(home, workspace).as_ref() == Some(self))
            })
        }
    }
}

/// The main worktree of the repository that a linked worktree belongs to; `None` for other directories.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let read = |path: &Path| regular::read(path, regular::MAX_TEXT).ok();
    let path = |text: &[u8]| PathBuf::from(OsStr::from_bytes(text.trim_ascii()));
    let link = read(&root.join(".git"))?;
    let own = root.join(path(link.strip_prefix(b"gitdir:")?));
    // The directory of a submodule has no such file.
    let common = own.join(path(&read(&own.join("commondir"))?));
    let common = std::fs::canonicalize(common).ok()?;
    // A bare repository has no main worktree.
    Some(if common.ends_with(".git") { common.parent()?.to_owned() } else { common })
}

/// The same place in the main worktree, for a path in a worktree that `git worktree add` created. The repository must list that worktree: a
/// `.git` file alone could name any repository.
pub(crate) fn in_main_worktree(path: &Path) -> Option<PathBuf> {
    let root = path.ancestors().find(|dir| is_repository(dir))?;
    let main = main_worktree(root)?;
    let listed =
        std::fs::read_dir(main.join(".git/worktrees")).or_else(|_| std::fs::read_dir(main.join("worktrees"))).ok()?;
    let own = std::fs::canonicalize(root.join(".git")).ok()?;
    let is_own = |dir: &Path| {
        let link = regular::read(&dir.join("gitdir"), regular::MAX_TEXT).ok();
        let link = link.map(|link| dir.join(OsStr::from_bytes(link.trim_ascii())));
        link.and_then(|link| std::fs::canonicalize(link).ok()).is_some_and(|link| link == own)
    };
    let is_listed = listed.flatten().any(|entry| is_own(&entry.path()));
    Some(main.join(path.strip_prefix(root).ok()?)).filter(|_| is_listed)
}

/// The directory in which the agents of a thread work.
fn workspace(home: &Home, thread: &ThreadId) -> Option<PathBuf> {
    place(home, thread).map(|place| place.workspace)
}

/// Where the agents of a thread work, among its settings.
#[derive(Deserialize)]
struct PlaceSettings {
    workspace: PathBuf,
    worktree: Option<Worktree>,
}

/// Reads only these settings of a thread.
fn place(home: &Home, thread: &ThreadId) -> Option<PlaceSettings> {
    let record = record::read(home, thread).ok()?;
    serde_json::from_slice(record::settings_line(&record)?).ok()
}

/// The directory of the repository that the worktree of a thread belongs to. It is known after `gc` removed the worktree.
fn repository_of_worktree(home: &Home, thread: &ThreadId) -> Option<PathBuf> {
    let repository = place(home, thread)?.worktree?.repository;
    Some(if repository.ends_with(".git") { repository.parent()?.to_owned() } else { repository })
}

/// Names of the project's workflow files with their paths, sorted.
pub fn all(cwd: &Path) -> Vec<(String, PathBuf)> {
    dir(cwd).map(|dir| in_dir(&dir)).unwrap_or_default()
}

/// Names of the workflow files in a directory with their paths, sorted.
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

/// Whether a file is a project's configuration, which is in the same directory as its workflows.
pub(crate) fn is_config(path: &Path) -> bool {
    [CONFIG, LOCAL_CONFIG].iter().any(|name| path.ends_with(Path::new(DIR).join(name)))
}

/// The project's `.workflows`. The search never leaves the repository.
pub fn dir(cwd: &Path) -> Option<PathBuf> {
    for dir in cwd.ancestors() {
        let candidate = dir.join(DIR);
        if candidate.is_dir() {
            return Some(candidate);
        }
        if is_repository(dir) {
            return None;
        }
    }
    None
}

/// Whether a directory is in a git repository.
pub fn is_in_repository(dir: &Path) -> bool {
    dir.ancestors().any(is_repository)
}

fn is_repository(dir: &Path) -> bool {
    // `.git` is a file in worktrees and submodules.
    dir.join(".git").exists()
}

/// The original of a path in a thread's worktree: the same place in the directory that the worktree was created from.
/// Any other path is its own original.
pub(crate) fn origin(home: &Home, path: &Path) -> PathBuf {
    let in_worktree = || {
        let dirs = std::fs::canonicalize(home.worktrees_dir()).ok()?;
        let mut parts = path.strip_prefix(dirs).ok()?.components();
        let thread: ThreadId = parts.next()?.as_os_str().to_str()?.parse().ok()?;
        let from = regular::read(&home.worktree_origin(&thread), regular::MAX_TEXT);
        let from = from.map(|from| PathBuf::from(OsString::from_vec(from))).ok();
        let from = from.or_else(|| repository_of_worktree(home, &thread))?;
        Some(if parts.as_path().as_os_str().is_empty() { from } else { from.join(parts.as_path()) })
    };
    in_worktree().unwrap_or_else(|| path.to_owned())
}

pub(crate) fn has_workflow_extension(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| matches!(extension, "yaml" | "yml" | "json"))
}
