//! The place of steps in groups, for costs by branch.

use uwf_core::thread::ThreadId;

use crate::root::home::Home;
use crate::views::branches::{self, path_below};

/// The thread that some steps belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum PlaceThread {
    /// The thread of a group, which has a step for each branch.
    Group,
    /// The thread of a branch. If it plays a group, the group has the path of the branch.
    Branch,
    /// Another thread, for example of a workflow that plays a branch.
    #[default]
    Other,
}

/// The group or the branch that some steps belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GroupPlace {
    /// Path of the branch, or of the group; `None` outside of groups.
    pub(super) path: Option<String>,
    thread: PlaceThread,
}

impl GroupPlace {
    /// The place of the steps of a child thread. `group` is the role that it played, if that role is a group, or a branch of one.
    pub(super) fn below(&self, group: Option<&str>) -> GroupPlace {
        let Some(role) = group else { return GroupPlace { path: self.path.clone(), thread: PlaceThread::Other } };
        let (path, thread) = match (&self.path, self.thread) {
            (path, PlaceThread::Group) => (path_below(path.as_deref(), "", role), PlaceThread::Branch),
            (Some(branch), PlaceThread::Branch) => (branch.clone(), PlaceThread::Group),
            (Some(branch), PlaceThread::Other) => (format!("{branch}.{role}"), PlaceThread::Group),
            (None, _) => (role.to_owned(), PlaceThread::Group),
        };
        GroupPlace { path: Some(path), thread }
    }

    /// The place of the steps of a child thread that did not become a step, or whose step is counted later.
    pub(super) fn of_child(&self, home: &Home, child: &ThreadId) -> GroupPlace {
        if let Some(path) = branches::path(home, child) {
            return GroupPlace { path: Some(path), thread: PlaceThread::Branch };
        }
        match branches::group_path(home, child) {
            Some(path) => GroupPlace { path: Some(path), thread: PlaceThread::Group },
            None => {
                let path = self.path.clone().or_else(|| branches::enclosing(home, child));
                GroupPlace { path, thread: PlaceThread::Other }
            }
        }
    }
}
