//! The paths of branches, with the names of all groups above them.

use std::borrow::Cow;

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use crate::attempt::child_threads::{self, kinship::ThreadKin};
use crate::attempt::settings::ThreadSettings;
use crate::root::home::Home;

/// Finds the parent of a thread, and the branch that it is.
pub(crate) type KinReader<'r> = dyn FnMut(&ThreadId) -> Option<ThreadKin> + 'r;

/// The path of a branch: `GROUP.BRANCH`, or `GROUP.BRANCH.BRANCH` for a branch of a group within a group. If a workflow plays a branch, the
/// groups of that workflow are below the branch. `None` if the thread is not a branch, or if its settings are unreadable.
#[must_use]
pub fn path(home: &Home, thread: &ThreadId) -> Option<String> {
    path_of(&ThreadKin::recorded(home, thread)?, &mut |id| ThreadKin::recorded(home, id))
}

/// The path of the branch with these settings.
pub(crate) fn path_in(home: &Home, settings: &ThreadSettings) -> Option<String> {
    path_of(&ThreadKin::of_settings(settings), &mut |id| ThreadKin::recorded(home, id))
}

/// The path of the branch with this place. `read` finds the threads above it.
pub(crate) fn path_of(kinship: &ThreadKin, read: &mut KinReader<'_>) -> Option<String> {
    path_within(kinship, read, MAX_GENERATIONS)
}

fn path_within(kinship: &ThreadKin, read: &mut KinReader<'_>, levels: usize) -> Option<String> {
    let place = kinship.branch.as_ref()?;
    let group = kinship.parent.as_ref().filter(|_| levels > 0).and_then(&mut *read);
    let player = group.and_then(|group| group.parent).and_then(|player| read(&player));
    let above = player.and_then(|player| above_within(&player, read, &place.group, levels - 1));
    Some(path_below(above.as_deref(), &place.group, &place.name))
}

/// The path of a group that the thread with these settings plays, if a branch is above it.
pub(crate) fn path_above(home: &Home, player: &ThreadSettings, group: &str) -> Option<String> {
    above_within(&ThreadKin::of_settings(player), &mut |id| ThreadKin::recorded(home, id), group, MAX_GENERATIONS)
}

fn above_within(player: &ThreadKin, read: &mut KinReader<'_>, group: &str, levels: usize) -> Option<String> {
    match player.branch {
        Some(_) => path_within(player, read, levels),
        None => Some(format!("{}.{group}", enclosing_within(player.parent.clone(), read, levels)?)),
    }
}

/// The path of the nearest branch above a thread that is not a branch.
pub(crate) fn enclosing(home: &Home, thread: &ThreadId) -> Option<String> {
    let parent = child_threads::parent_of(home, thread);
    enclosing_within(parent, &mut |id| ThreadKin::recorded(home, id), MAX_GENERATIONS)
}

fn enclosing_within(mut above: Option<ThreadId>, read: &mut KinReader<'_>, levels: usize) -> Option<String> {
    for level in 0..levels {
        let kinship = read(&above?)?;
        if kinship.branch.is_some() {
            return path_within(&kinship, read, levels - level - 1);
        }
        above = kinship.parent;
    }
    None
}

/// The path of a branch of a group. `above` is the path of the branch that plays the group, if one does.
pub(crate) fn path_below(above: Option<&str>, group: &str, branch: &str) -> String {
    format!("{}.{branch}", above.unwrap_or(group))
}

/// A path as an argument of a command line. The names of roles and items can have blanks.
#[must_use]
pub fn as_argument(path: &str) -> Cow<'_, str> {
    shlex::try_quote(path).unwrap_or(Cow::Borrowed(path))
}
