//! A thread's own git worktree, as its settings describe it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::root::inner_path::InnerPath;

/// The worktree in a thread's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Its directory.
    pub dir: PathBuf,
    /// The branch that was created for it.
    pub branch: String,
    /// The commit at which the branch began.
    pub base: String,
    /// The repository it belongs to: the `.git` that all its working trees share.
    pub repository: PathBuf,
}

impl Worktree {
    /// Returns the path of a workspace in it; `None` for a workspace elsewhere.
    pub(crate) fn inside(&self, workspace: &Path) -> Option<InnerPath> {
        InnerPath::strip_base(workspace, &self.dir)
    }
}

/// Whether a text is the full name of a commit, which git cannot take for an option or a range.
pub(crate) fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
