//! Files that git ignores.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{GitRunner, failed, input};
use crate::error::Result;

/// Exit code of `git check-ignore` when it ignores none of the paths.
const NONE: i32 = 1;

impl GitRunner<'_> {
    /// Untracked files of the working tree that match a file of patterns, relative to the directory of this git. A directory with a
    /// repository of its own is one entry, without its files.
    pub(crate) fn untracked_matches(&self, patterns: &Path) -> Result<Vec<PathBuf>> {
        let mut exclude = OsString::from("--exclude-from=");
        exclude.push(patterns);
        let args = ["ls-files", "-z", "--others", "--ignored"].map(OsStr::new).into_iter().chain([exclude.as_os_str()]);
        let listed = self.run("look for files to copy", args)?;
        Ok(paths(listed.as_bytes()))
    }

    /// The paths among these that git ignores.
    pub(crate) fn ignored(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut listed = Vec::new();
        for path in paths {
            listed.extend(path.as_os_str().as_bytes());
            listed.push(0);
        }
        let git = GitRunner { input: Some(input(&listed)?), ..self.again() };
        let output = git.output(["check-ignore", "-z", "--stdin"])?;
        match output.status.code() {
            Some(0 | NONE) => Ok(self::paths(&output.stdout)),
            _ => Err(failed("look for ignored files", &output)),
        }
    }
}

/// Paths in a list, each with a null byte at its end.
fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let parts = listed.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| PathBuf::from(OsString::from_vec(part.to_vec()))).collect()
}
