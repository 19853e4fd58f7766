//! A group: a role that plays other roles at the same time, each in a thread of its own, a branch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number;
use crate::usage::ThreadLimits;

/// The agent recorded in the steps of a group's thread, and in the step of the group itself.
pub const GROUP_AGENT: &str = "uwf-play";

/// Branches that run at the same time, unless the group says otherwise.
const DEFAULT_MAX: usize = 4;

/// A group. Without `each` and `copies`, each listed role is a branch. With one of them, the only listed role is played by every branch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleGroup {
    /// The roles, in the order of the file.
    pub roles: Vec<GroupBranch>,
    /// JSONata that gives a list, with an item for each branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// The key of an item that names its branch. With it, the output is a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Number of branches that do the same.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub copies: Option<u64>,
    /// The role or the JSONata that picks the best copy; `None` is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// Most branches at the same time; `None` is 4.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub max: Option<u64>,
    /// Whether the group continues without failed branches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_fail: bool,
    /// How the branches may use the files of the thread.
    #[serde(default, skip_serializing_if = "is_default")]
    pub files: BranchFiles,
    /// How the changes of the branches come together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub merge: BranchMerge,
    /// The role that resolves the conflicts of a merge; `None` is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve: Option<String>,
}

/// A branch of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupBranch {
    /// Its role.
    pub role: String,
    /// Name of the condition under which it is played; `None` is always.
    pub condition: Option<String>,
    /// Whether the group continues if it fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_fail: bool,
    /// Limits of its thread.
    #[serde(default, skip_serializing_if = "ThreadLimits::is_empty")]
    pub limits: ThreadLimits,
}

/// How branches may use the files of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BranchFiles {
    /// They only read them.
    #[default]
    Read,
    /// They change them, one branch after the other.
    Shared,
    /// Each changes a copy of its own, in a git worktree.
    Worktree,
}

/// How the changes that branches made in their worktrees come together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BranchMerge {
    /// They stay in the branches.
    #[default]
    None,
    /// They are merged into the thread's worktree, in the order of the branches.
    Sequence,
}

impl RoleGroup {
    /// The role that every branch plays, if the branches differ only in their items, or not at all.
    #[must_use]
    pub fn repeated(&self) -> Option<&GroupBranch> {
        self.roles.first().filter(|_| self.each.is_some() || self.copies.is_some())
    }

    /// The roles of its branches, then `resolve`, and `pick`, which may also be an expression.
    pub fn played(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|branch| branch.role.as_str()).chain(self.resolve.as_deref()).chain(self.pick.as_deref())
    }

    /// Most branches at the same time.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(DEFAULT_MAX)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
