//! Where the threads of a workflow work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a thread works when nobody says it as it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workspace {
    /// `directory`: in the directory it is started in.
    #[default]
    Directory,
    /// `worktree`: in a git worktree of its own.
    Worktree,
}

impl Workspace {
    /// Whether it is what holds when nobody says anything.
    pub(crate) fn is_default(&self) -> bool {
        *self == Workspace::default()
    }
}
