//! The workspace of a workflow's threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default workspace of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workspace {
    /// `directory`: the directory in which it is started.
    #[default]
    Directory,
    /// `worktree`: a git worktree of its own.
    Worktree,
}

impl Workspace {
    /// Whether it is the default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Workspace::default()
    }
}
