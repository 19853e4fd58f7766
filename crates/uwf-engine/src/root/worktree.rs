//! What is known of the git worktree that a thread has of its own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The worktree of a thread, as its settings have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Its directory.
    pub dir: PathBuf,
    /// The branch that was made for it.
    pub branch: String,
    /// The commit that the branch began at.
    pub base: String,
    /// The repository it belongs to: the `.git` that all its working trees share.
    pub repository: PathBuf,
}
