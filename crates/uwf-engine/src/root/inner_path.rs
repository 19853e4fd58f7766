//! Paths that stay below the directory they are joined to.
//!
//! A note in a shared store and a commit of a git remote name the directory in a worktree where agents work. Another
//! member of the team wrote them. So they are parsed into a type that can't name a path outside of the worktree or
//! git's own files.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A relative path without `..`, `.git` or a root. Empty for the directory itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PathBuf")]
pub struct InnerPath(PathBuf);

/// A path that points out of its directory, or into git's own files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a directory inside the worktree", .0.escape_debug())]
pub struct NotInner(String);

impl TryFrom<PathBuf> for InnerPath {
    type Error = NotInner;

    fn try_from(path: PathBuf) -> Result<InnerPath, NotInner> {
        let is_inner = |component: Component<'_>| matches!(component, Component::Normal(name) if !is_git(name));
        if !path.components().all(is_inner) {
            return Err(NotInner(path.to_string_lossy().into_owned()));
        }
        // Git prints directories with a trailing slash.
        Ok(InnerPath(path.components().collect()))
    }
}

/// Whether a file system may treat a name as `.git`: some ignore case.
fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

impl InnerPath {
    /// Returns the path of a directory relative to another one; `None` if it is not inside.
    pub(crate) fn strip_base(dir: &Path, below: &Path) -> Option<InnerPath> {
        dir.strip_prefix(below).ok()?.to_owned().try_into().ok()
    }

    /// The directory that it names below another one.
    pub(crate) fn below(&self, dir: &Path) -> PathBuf {
        dir.join(&self.0).components().collect()
    }

    /// Whether it names the directory itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_os_str().is_empty()
    }
}

impl fmt::Display for InnerPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(out)
    }
}

/// Whether an existing directory is inside another one, after following all links.
pub(crate) fn is_inside(dir: &Path, other: &Path) -> io::Result<bool> {
    Ok(fs::canonicalize(dir)?.starts_with(fs::canonicalize(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["..", "../x", "a/../../x", "/", "/etc", "./../x", ".git", "a/.git/hooks", ".GIT"] {
            assert!(InnerPath::try_from(PathBuf::from(path)).is_err(), "{path}");
            assert!(serde_json::from_value::<InnerPath>(path.into()).is_err(), "{path}");
        }
    }

    #[test]
    fn paths_that_stay_are_joined() {
        for (path, joined) in [
            ("", "/top"),
            ("a", "/top/a"),
            ("a/b/", "/top/a/b"),
            ("a//b/.", "/top/a/b"),
            ("..a/.github", "/top/..a/.github"),
        ] {
            let inner = InnerPath::try_from(PathBuf::from(path)).unwrap();
            assert_eq!(inner.below(Path::new("/top")), Path::new(joined));
            assert_eq!(InnerPath::strip_base(Path::new(joined), Path::new("/top")), Some(inner));
        }
    }
}
