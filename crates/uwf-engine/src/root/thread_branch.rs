//! The place of a branch's thread in its group.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The branch of a group that a thread is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadBranch {
    /// The role that is the group.
    pub group: String,
    /// The name of the branch.
    pub name: String,
    /// Its item of `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    /// Its position in the group, from 0, by the file or the items. The role that picks a copy and roles that resolve conflicts come last.
    /// Old records lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

impl ThreadBranch {
    /// `GROUP.BRANCH`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.group, self.name)
    }

    /// Its item as a text.
    pub(crate) fn item_text(&self) -> Option<String> {
        self.item.as_ref().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
    }

    /// The variables that its agents get. `path` has the groups above its own.
    pub(crate) fn variables(&self, path: Option<String>) -> Vec<(OsString, OsString)> {
        let path = path.unwrap_or_else(|| self.path());
        let item = self.item_text().map(|item| ("UWF_ITEM".into(), item.into()));
        [("UWF_BRANCH".into(), path.into())].into_iter().chain(item).collect()
    }
}
