//! The branches of a thread's groups that are being played.

use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::settings::Settings;
use crate::attempt::thread_branch::ThreadBranch;
use crate::error::{Error, Result};
use crate::root::home::Home;

/// How many levels of child threads are searched. Far more than any `maxDepth`.
const MAX_GENERATIONS: usize = 64;

/// A branch.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveBranch {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place in its group.
    pub place: ThreadBranch,
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
            let place = Settings::load(home, &child)?.and_then(|settings| settings.branch);
            branches.extend(place.map(|place| ActiveBranch { thread: child.clone(), place }));
            if generations > 0 {
                open.push((child, generations - 1));
            }
        }
    }
    branches.sort_by(|a, b| a.thread.cmp(&b.thread));
    Ok(branches)
}

/// The thread of the branch with a name, `BRANCH` or `GROUP.BRANCH`.
///
/// # Errors
/// `Usage` if no branch has the name, or several have it.
pub fn named(home: &Home, thread: &ThreadId, name: &str) -> Result<ThreadId> {
    let all = active(home, thread)?;
    let has_name = |branch: &&ActiveBranch| branch.place.name == name || branch.place.path() == name;
    let found: Vec<&ActiveBranch> = all.iter().filter(has_name).collect();
    match found.as_slice() {
        [only] => Ok(only.thread.clone()),
        [] => {
            let known: Vec<String> = all.iter().map(|branch| branch.place.path()).collect();
            let hint = match known.is_empty() {
                true => "none of its branches is active".to_owned(),
                false => format!("active branches: {}", known.join(", ")),
            };
            Err(Error::usage(format!("thread {thread} has no active branch `{name}`")).hint(hint))
        }
        several => {
            let paths: Vec<String> = several.iter().map(|branch| branch.place.path()).collect();
            Err(Error::usage(format!("thread {thread} has several branches `{name}`"))
                .hint(format!("name its group: {}", paths.join(", "))))
        }
    }
}
