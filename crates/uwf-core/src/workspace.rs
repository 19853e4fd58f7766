//! The workspace of a workflow's threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default workspace of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceKind {
    /// `directory`: the directory in which it is started.
    #[default]
    Directory,
    /// `worktree`: a git worktree of its own.
    Worktree,
}

impl WorkspaceKind {
    /// Whether it is the default.
    pub(crate) fn is_default(&self) -> bool {
        *self == WorkspaceKind::default()
    }
}
