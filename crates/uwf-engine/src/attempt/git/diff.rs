//! How two trees of files differ.

use std::borrow::Cow;
use std::os::unix::ffi::OsStringExt;

use serde::{Serialize, Serializer};

use super::{GitRunner, refused};
use crate::error::Result;

/// Options of every comparison: git's own output, regardless of the person's configuration.
const PLAIN: [&str; 7] =
    ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short", "-O/dev/null"];

/// Further options of a patch that `git apply` must understand.
const PATCH: [&str; 5] = ["--patch", BINARY, "--unified=3", "--src-prefix=a/", "--dst-prefix=b/"];

/// The option that puts the content of binary files into a patch.
const BINARY: &str = "--binary";

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// Its earlier path, if it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Added lines; absent for a binary file.
    pub added: Option<u64>,
    /// Removed lines; absent for a binary file.
    pub removed: Option<u64>,
}

impl GitRunner<'_> {
    /// The files that differ, with the number of lines added and removed.
    pub(crate) fn changed_files(&self, one: &str, other: &str) -> Result<Vec<FileChange>> {
        let listed = self.text("compare the files", PLAIN.into_iter().chain(["--numstat", "-z", one, other]))?;
        changes(&listed).ok_or_else(|| refused("compare the files", &listed))
    }

    /// The differences themselves, for people and models. A binary file is only named.
    pub(crate) fn readable_diff(&self, one: &str, other: &str) -> Result<String> {
        let options = PATCH.into_iter().filter(|option| *option != BINARY);
        let mut diff = self.text("compare the files", PLAIN.into_iter().chain(options).chain([one, other]))?;
        if !diff.is_empty() {
            diff.push('\n');
        }
        Ok(diff)
    }

    /// The differences themselves, as a patch.
    pub(crate) fn patch(&self, one: &str, other: &str) -> Result<GitPatch> {
        let patch = self.run("compare the files", PLAIN.into_iter().chain(PATCH).chain([one, other]))?;
        let mut bytes = patch.into_vec();
        if !bytes.is_empty() {
            bytes.push(b'\n');
        }
        Ok(GitPatch(bytes))
    }
}

/// A patch that `git apply` accepts. It has the files' bytes in any encoding; as text, and so in JSON, invalid UTF-8 is
/// replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPatch(pub Vec<u8>);

impl GitPatch {
    /// The patch for people to read.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl Serialize for GitPatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// Parses the output of `--numstat -z`: added, removed, path. For a rename, the path is empty and two paths follow.
fn changes(listed: &str) -> Option<Vec<FileChange>> {
    let mut parts = listed.split_terminator('\0');
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        let mut columns = part.splitn(3, '\t');
        // A binary file has `-` for both.
        let (added, removed) = (columns.next()?.parse().ok(), columns.next()?.parse().ok());
        let (before, path) = match columns.next()? {
            "" => (Some(parts.next()?.to_owned()), parts.next()?.to_owned()),
            path => (None, path.to_owned()),
        };
        found.push(FileChange { path, before, added, removed });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_read_with_renames_and_binaries() {
        let change = |path: &str, before: Option<&str>, added, removed| FileChange {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            added,
            removed,
        };
        assert_eq!(
            changes("1\t2\ta b\0-\t-\tpicture\u{0}0\t0\t\0old\0new\0"),
            Some(vec![
                change("a b", None, Some(1), Some(2)),
                change("picture", None, None, None),
                change("new", Some("old"), Some(0), Some(0)),
            ])
        );
        assert_eq!(changes(""), Some(Vec::new()));
        assert_eq!(changes("1\t2\0"), None);
    }
}
