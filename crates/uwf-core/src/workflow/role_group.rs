//! A group: a role that plays other roles at the same time, each in a thread of its own, a branch.

use serde::{Deserialize, Serialize};

use crate::number;
use crate::usage::ThreadLimits;

/// The agent of the steps that a group makes: of its own thread, and of the thread that it is a role of.
pub const GROUP_AGENT: &str = "uwf-play";

/// Branches that run at the same time, unless the group says otherwise.
const DEFAULT_MAX: usize = 4;

/// The roles of a group. The keys of other kinds of group are read and stored, and this version of uwf refuses to play them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleGroup {
    /// The branches, in the order of the file.
    pub roles: Vec<GroupBranch>,
    /// The list with an item for each branch, as JSONata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// The key of an item that names its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Number of branches that do the same.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub copies: Option<u64>,
    /// Who picks the best copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// Most branches at the same time; `None` is 4.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub max: Option<u64>,
    /// Whether the group continues without failed branches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_fail: bool,
    /// The files of the branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// How the files of the branches come together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
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

impl RoleGroup {
    /// The first key that this version of uwf can't play.
    #[must_use]
    pub fn unsupported(&self) -> Option<&'static str> {
        let of_branches = |has: fn(&GroupBranch) -> bool| self.roles.iter().any(has);
        [
            ("each", self.each.is_some()),
            ("key", self.key.is_some()),
            ("copies", self.copies.is_some()),
            ("pick", self.pick.is_some()),
            ("mayFail", self.may_fail || of_branches(|branch| branch.may_fail)),
            ("files", self.files.as_deref().is_some_and(|files| files != "read")),
            ("merge", self.merge.is_some()),
            ("limits", of_branches(|branch| !branch.limits.is_empty())),
        ]
        .into_iter()
        .find_map(|(key, is_used)| is_used.then_some(key))
    }

    /// Most branches at the same time.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(DEFAULT_MAX)
    }
}
