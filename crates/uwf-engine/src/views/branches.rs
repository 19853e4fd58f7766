//! The branches of a thread's groups that are being played, and the paths of branches.

use uwf_core::thread::ThreadId;
use uwf_core::workflow::CopyPicker;

use crate::attempt::child_threads;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::thread_branch::ThreadBranch;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::children;
use crate::thread::load::Thread;

/// How many levels of child threads are searched. Far more than any `maxDepth`.
const MAX_GENERATIONS: usize = 64;

/// Symbols shown of the names of branches.
const NAMES: usize = 400;

/// A branch.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveBranch {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place in its group.
    pub place: ThreadBranch,
    /// Its path: with the names of all groups above it.
    pub path: String,
}

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

/// The path of a group, by its thread: its role, or the path of the branch that plays it. `None` if none of its branches has begun.
pub(crate) fn group_path(home: &Home, group: &ThreadId) -> Option<String> {
    let settings = children::known(home, group).ok()?.first().and_then(|id| ThreadSettings::load(home, id).ok()?)?;
    let path = path_in(home, &settings)?;
    path.strip_suffix(&format!(".{}", settings.branch?.name)).map(str::to_owned)
}

/// The path of a branch of a group. `above` is the path of the branch that plays the group, if one does.
pub(crate) fn path_below(above: Option<&str>, group: &str, branch: &str) -> String {
    format!("{}.{branch}", above.unwrap_or(group))
}

/// The branches of a thread that have not ended, also of groups within its groups.
///
/// # Errors
/// Errors of the index and of the records.
pub fn active(home: &Home, thread: &ThreadId) -> Result<Vec<ActiveBranch>> {
    let mut branches = Vec::new();
    let mut open = vec![(thread.clone(), MAX_GENERATIONS)];
    while let Some((thread, generations)) = open.pop() {
        for child in child_threads::active(home, &thread)? {
            if let Some(settings) = ThreadSettings::load(home, &child)? {
                let path = path_in(home, &settings);
                let found = settings.branch.zip(path);
                branches.extend(found.map(|(place, path)| ActiveBranch { thread: child.clone(), place, path }));
            }
            if generations > 0 {
                open.push((child, generations - 1));
            }
        }
    }
    branches.sort_by(|a, b| a.thread.cmp(&b.thread));
    Ok(branches)
}

/// The thread of the role that picks a copy of a group, by the group's name or path; `None` if it is not active.
///
/// # Errors
/// `Usage` if several such groups have the name; errors of the index, the records and the nodes.
pub fn judge(home: &Home, thread: &ThreadId, group: &str) -> Result<Option<ThreadId>> {
    let group_of =
        |branch: &ActiveBranch| branch.path.strip_suffix(&format!(".{}", branch.place.name)).map(str::to_owned);
    let mut judges = Vec::new();
    for branch in active(home, thread)? {
        let has_name = branch.place.group == group || group_of(&branch).as_deref() == Some(group);
        if has_name && picks_copy(home, &branch)? {
            judges.push(branch);
        }
    }
    let found = narrowed(judges.iter().collect(), |judge| group_of(judge).as_deref() == Some(group));
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.thread.clone())),
        several => {
            let mut paths: Vec<String> = several.iter().filter_map(|judge| group_of(judge)).collect();
            paths.sort_unstable();
            Err(Error::usage(format!("thread {thread} has several groups `{group}`"))
                .hint(format!("name one by its path: {}", paths.join(", "))))
        }
    }
}

/// Whether a branch is the role that picks a copy of its group.
fn picks_copy(home: &Home, branch: &ActiveBranch) -> Result<bool> {
    let above = child_threads::parent_of(home, &branch.thread).and_then(|group| child_threads::parent_of(home, &group));
    let Some(above) = above else { return Ok(false) };
    let workflow = Thread::active(home, &above)?.0.workflow()?;
    let Some(group) = workflow.roles.get(&branch.place.group).and_then(|role| role.more.play.as_ref()) else {
        return Ok(false);
    };
    let is_copy = branch.place.name.parse().is_ok_and(|number: u64| Some(number) <= group.copies);
    Ok(group.copies.is_some() && !is_copy && matches!(CopyPicker::for_group(&workflow, group), CopyPicker::Role(_)))
}

/// The branches that fit best: those that fit exactly, if there are any.
fn narrowed(found: Vec<&ActiveBranch>, is_exact: impl Fn(&ActiveBranch) -> bool) -> Vec<&ActiveBranch> {
    let exact: Vec<&ActiveBranch> = found.iter().copied().filter(|branch| is_exact(branch)).collect();
    if exact.is_empty() { found } else { exact }
}

/// The thread of the branch with a name, `BRANCH` or `GROUP.BRANCH`.
///
/// # Errors
/// `Usage` if no branch has the name, or several have it.
pub fn named(home: &Home, thread: &ThreadId, name: &str) -> Result<ThreadId> {
    let all = active(home, thread)?;
    let has_name =
        |branch: &&ActiveBranch| branch.place.name == name || branch.place.path() == name || branch.path == name;
    let found = narrowed(all.iter().filter(has_name).collect(), |branch| branch.path == name);
    match found.as_slice() {
        [only] => Ok(only.thread.clone()),
        [] => {
            let known: Vec<&str> = all.iter().map(|branch| branch.path.as_str()).collect();
            let hint = match known.is_empty() {
                true => "none of its branches is active".to_owned(),
                false => format!("active branches: {}", uwf_core::text::ellipsize(&known.join(", "), NAMES)),
            };
            Err(Error::usage(format!("thread {thread} has no active branch `{name}`")).hint(hint))
        }
        several => {
            let paths: Vec<&str> = several.iter().map(|branch| branch.path.as_str()).collect();
            Err(Error::usage(format!("thread {thread} has several branches `{name}`"))
                .hint(format!("name its group: {}", uwf_core::text::ellipsize(&paths.join(", "), NAMES))))
        }
    }
}
