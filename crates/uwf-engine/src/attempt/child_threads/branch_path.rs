//! The paths of branches, with the names of all groups above them.

use std::borrow::Cow;

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use crate::attempt::child_threads;
use crate::attempt::settings::ThreadSettings;
use crate::root::home::Home;

/// The path of a branch: `GROUP.BRANCH`, or `GROUP.BRANCH.BRANCH` for a branch of a group within a group. If a workflow plays a branch, the
/// groups of that workflow are below the branch. `None` if the thread is not a branch, or if its settings are unreadable.
#[must_use]
pub fn path(home: &Home, thread: &ThreadId) -> Option<String> {
    path_in(home, &ThreadSettings::load(home, thread).ok()??)
}

/// The path of the branch with these settings.
pub(crate) fn path_in(home: &Home, settings: &ThreadSettings) -> Option<String> {
    path_within(home, settings, MAX_GENERATIONS)
}

fn path_within(home: &Home, settings: &ThreadSettings, levels: usize) -> Option<String> {
    let place = settings.branch.as_ref()?;
    let player = settings.parent.as_ref().filter(|_| levels > 0).and_then(|group| {
        let player = child_threads::parent_of(home, group)?;
        ThreadSettings::load(home, &player).ok()?
    });
    let above = player.and_then(|player| above_within(home, &player, &place.group, levels - 1));
    Some(path_below(above.as_deref(), &place.group, &place.name))
}

/// The path of a group that the thread with these settings plays, if a branch is above it.
pub(crate) fn path_above(home: &Home, player: &ThreadSettings, group: &str) -> Option<String> {
    above_within(home, player, group, MAX_GENERATIONS)
}

fn above_within(home: &Home, player: &ThreadSettings, group: &str, levels: usize) -> Option<String> {
    match player.branch {
        Some(_) => path_within(home, player, levels),
        None => Some(format!("{}.{group}", enclosing_within(home, player.parent.clone(), levels)?)),
    }
}

/// The path of the nearest branch above a thread that is not a branch.
pub(crate) fn enclosing(home: &Home, thread: &ThreadId) -> Option<String> {
    enclosing_within(home, child_threads::parent_of(home, thread), MAX_GENERATIONS)
}

fn enclosing_within(home: &Home, mut above: Option<ThreadId>, levels: usize) -> Option<String> {
    for level in 0..levels {
        let settings = ThreadSettings::load(home, &above?).ok()??;
        if settings.branch.is_some() {
            return path_within(home, &settings, levels - level - 1);
        }
        above = settings.parent;
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
