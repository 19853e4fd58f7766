//! The place of steps in groups, for costs by branch.

use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::views::branches::{self, path_below};

/// The group or the branch that some steps belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GroupPlace {
    /// Path of the branch, or of the group; `None` outside of groups.
    pub(super) path: Option<String>,
    /// Whether the steps belong to the group's own thread, which has one for each branch.
    is_group: bool,
}

impl GroupPlace {
    /// The place of the steps of a child thread. `group` is the role that it played, if that role is a group, or a branch of one.
    pub(super) fn below(&self, group: Option<&str>) -> GroupPlace {
        let path = match group {
            None => self.path.clone(),
            Some(branch) if self.is_group => Some(path_below(self.path.as_deref(), "", branch)),
            Some(group) => Some(self.path.clone().unwrap_or_else(|| group.to_owned())),
        };
        GroupPlace { path, is_group: group.is_some() && !self.is_group }
    }

    /// The place of the steps of a child thread that did not become a step.
    pub(super) fn of_child(&self, home: &Home, child: &ThreadId) -> GroupPlace {
        if let Some(path) = branches::path(home, child) {
            return GroupPlace { path: Some(path), is_group: false };
        }
        match branches::group_path(home, child) {
            Some(path) => GroupPlace { path: Some(path), is_group: true },
            None => GroupPlace { path: self.path.clone(), is_group: false },
        }
    }
}
