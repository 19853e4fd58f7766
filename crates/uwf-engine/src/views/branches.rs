//! The branches of a thread's groups that are being played.

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};
use uwf_core::workflow::{CopyPicker, PERSON_PICKS, RoleGroup, Workflow};

use crate::attempt::child_threads;
pub use crate::attempt::child_threads::branch_path::{as_argument, path};
pub(crate) use crate::attempt::child_threads::branch_path::{enclosing, path_above, path_below, path_in, path_of};
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::thread_branch::ThreadBranch;
use crate::thread::children;
use crate::thread::load::Thread;

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

/// The path of a group, by its thread: its role, or the path of the branch that plays it. `None` if none of its branches has begun.
pub(crate) fn group_path(home: &Home, group: &ThreadId) -> Option<String> {
    let settings = children::known(home, group).ok()?.first().and_then(|id| ThreadSettings::load(home, id).ok()?)?;
    let path = path_in(home, &settings)?;
    path.strip_suffix(&format!(".{}", settings.branch?.name)).map(str::to_owned)
}

/// The branches of a thread that have not ended, each followed by the branches of the groups within it, in the order of the groups.
pub fn active(home: &Home, thread: &ThreadId) -> Result<Vec<ActiveBranch>> {
    let mut branches = Vec::new();
    let mut open = vec![(thread.clone(), MAX_GENERATIONS)];
    while let Some((at, generations)) = open.pop() {
        if at != *thread
            && let Some(settings) = ThreadSettings::load(home, &at)?
        {
            let path = path_in(home, &settings);
            let found = settings.branch.zip(path);
            branches.extend(found.map(|(place, path)| ActiveBranch { thread: at.clone(), place, path }));
        }
        if let Some(below) = generations.checked_sub(1) {
            open.extend(child_threads::active(home, &at)?.into_iter().rev().map(|child| (child, below)));
        }
    }
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
            let paths: Vec<String> = several.iter().filter_map(|judge| group_of(judge)).collect();
            Err(Error::usage(format!("thread {thread} has several groups `{group}`"))
                .hint(format!("name one by its path: {}", paths.join(", "))))
        }
    }
}

/// The paths of a thread's groups whose copies wait for a pick, with the numbers of copies.
pub fn with_copies_to_pick(home: &Home, thread: &ThreadId) -> Result<Vec<(String, u64)>> {
    let mut groups = Vec::new();
    for branch in active(home, thread)? {
        let Some((workflow, group)) = group_of(home, &branch)? else { continue };
        if branch.place.name == PERSON_PICKS || is_judge(&branch, &workflow, &group) {
            let path = branch.path.strip_suffix(&format!(".{}", branch.place.name)).map(str::to_owned);
            groups.extend(path.zip(group.copies));
        }
    }
    Ok(groups)
}

/// The group of a branch, and the workflow that has it.
fn group_of(home: &Home, branch: &ActiveBranch) -> Result<Option<(Workflow, RoleGroup)>> {
    let above = child_threads::parent_of(home, &branch.thread).and_then(|group| child_threads::parent_of(home, &group));
    let Some(above) = above else { return Ok(None) };
    let workflow = Thread::active(home, &above)?.0.workflow()?;
    let group = workflow.roles.get(&branch.place.group).and_then(|role| role.more.play.clone());
    Ok(group.map(|group| (workflow, group)))
}

/// Whether a branch is the role that picks a copy of its group.
fn picks_copy(home: &Home, branch: &ActiveBranch) -> Result<bool> {
    Ok(group_of(home, branch)?.is_some_and(|(workflow, group)| is_judge(branch, &workflow, &group)))
}

fn is_judge(branch: &ActiveBranch, workflow: &Workflow, group: &RoleGroup) -> bool {
    let is_copy = branch.place.name.parse().is_ok_and(|number: u64| Some(number) <= group.copies);
    group.copies.is_some() && !is_copy && matches!(CopyPicker::for_group(workflow, group), CopyPicker::Role(_))
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
                true => "all its branches have ended".to_owned(),
                false => format!("active branches: {}", uwf_core::text::ellipsize(&known.join(", "), NAMES)),
            };
            Err(Error::usage(format!("thread {thread} has no active branch `{name}`")).hint(hint))
        }
        several => {
            let error = Error::usage(format!("thread {thread} has several branches `{name}`"));
            let mut paths: Vec<&str> = several.iter().map(|branch| branch.path.as_str()).collect();
            paths.sort_unstable();
            // Keys of items may have dots.
            let is_ambiguous = paths.windows(2).any(|pair| pair[0] == pair[1]);
            let threads: Vec<&str> = several.iter().map(|branch| branch.thread.as_str()).collect();
            let (what, names) = if is_ambiguous { ("their threads", threads) } else { ("name its group", paths) };
            Err(error.hint(format!("{what}: {}", uwf_core::text::ellipsize(&names.join(", "), NAMES))))
        }
    }
}
