//! Child threads: a role that is played by a workflow has a thread of its own, found again whenever the role is tried
//! again at the same head.
//!
//! Which thread a child belongs to is the local machine's business, like every record of a thread: the child's settings
//! name its parent, and the parent's directory `children/` has an empty file for each child, so that killing and
//! pausing reach them. Nodes know only the parent's head and the depth.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::Settings;
use crate::error::Result;
use crate::root::history::{self, Finished};
use crate::root::home::Home;
use crate::root::ids;
use crate::root::marks::{self, Mark, Reason};
use crate::thread::children;
use crate::thread::load::Thread;

/// Threads above a thread that are looked at. Far more than any `maxDepth`, so that only a record that names itself as
/// its parent is stopped.
const MAX_ANCESTORS: usize = 64;

/// A child as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Child {
    /// It can be stepped.
    Active(ThreadId),
    /// It has ended.
    Ended(Finished),
}

/// Whether a role has a child thread at the parent's head that has ended.
///
/// # Errors
/// Those of the index and the history.
pub fn has_ended(parent: &Thread<'_>, role: &str) -> Result<bool> {
    Ok(matches!(find(parent.home(), &id_for(parent, role))?, Some(Child::Ended(_))))
}

/// The child thread that played a role behind a thread as it stands, if this machine knows it.
///
/// # Errors
/// Those of the index and the history.
pub(crate) fn that_played(parent: &Thread<'_>, role: &str) -> Result<Option<ThreadId>> {
    let id = id_for(parent, role);
    Ok(find(parent.home(), &id)?.map(|_| id))
}

pub(crate) fn find(home: &Home, id: &ThreadId) -> Result<Option<Child>> {
    if home.heads().read(id.as_str())?.is_some() {
        return Ok(Some(Child::Active(id.clone())));
    }
    Ok(history::of(home, id)?.map(Child::Ended))
}

/// The id of the child a role has at a thread's head. The time in it is that of the head, so that it is listed where it
/// began, but no earlier than the parent: equal nodes of several threads share the time of the first.
pub(crate) fn id_for(parent: &Thread<'_>, role: &str) -> ThreadId {
    let time = ids::started_at(&parent.id).unwrap_or(0).max(parent.head_timestamp_ms);
    ThreadId::from(ulid::Ulid::from_parts(time, children::random(&parent.id, parent.head, role)))
}

/// The children of a thread that are active, on this machine.
///
/// # Errors
/// Those of the directory and the index.
pub fn active(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let known = children::known(home, parent)?;
    if known.is_empty() {
        return Ok(known);
    }
    let heads: BTreeSet<String> = home.heads().list()?.into_iter().map(|(id, _)| id).collect();
    Ok(known.into_iter().filter(|id| heads.contains(id.as_str())).collect())
}

/// The active children that a thread which has ended may have on other machines, where the store is shared: only those of its last
/// position can be there, one for each role.
///
/// # Errors
/// Those of the index and the history.
pub(crate) fn active_elsewhere(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    if home.shared().is_none() {
        return Ok(Vec::new());
    }
    let Some(line) = history::of(home, parent)? else { return Ok(Vec::new()) };
    let Ok(thread) = Thread::at(home, parent.clone(), line.head) else { return Ok(Vec::new()) };
    let Ok(workflow) = thread.workflow() else { return Ok(Vec::new()) };
    let mut active = Vec::new();
    for id in workflow.roles.keys().map(|role| id_for(&thread, role)) {
        if home.heads().read(id.as_str())?.is_some() {
            active.push(id);
        }
    }
    Ok(active)
}

/// The children of a thread that ended with a step, on this machine: one, unless two of them share their nodes.
///
/// # Errors
/// Those of the directory and the history.
pub(crate) fn ended_at(home: &Home, parent: &ThreadId, last: Hash) -> Result<Vec<ThreadId>> {
    let mut ended = Vec::new();
    for id in children::known(home, parent)? {
        if history::of(home, &id)?.is_some_and(|line| line.head == last) {
            ended.push(id);
        }
    }
    Ok(ended)
}

/// The thread a child belongs to, when this machine knows it.
pub fn parent_of(home: &Home, id: &ThreadId) -> Option<ThreadId> {
    Settings::load(home, id).ok().flatten().and_then(|settings| settings.parent)
}

/// The thread that is paused, this one or one above it, and why.
///
/// # Errors
/// `Io` when that cannot be told: somebody wanted a paused thread to stay where it is.
pub fn paused(home: &Home, id: &ThreadId) -> Result<Option<(ThreadId, Reason)>> {
    let mut at = Some(id.clone());
    for _ in 0..MAX_ANCESTORS {
        let Some(thread) = at else { return Ok(None) };
        if let Some(reason) = marks::read(home, &thread, Mark::Paused)? {
            return Ok(Some((thread, reason)));
        }
        at = match Settings::load(home, &thread) {
            Err(error) if !error.is_damage() => return Err(error),
            other => other.ok().flatten().and_then(|settings| settings.parent),
        };
    }
    Ok(None)
}

/// The reason of a child's pause, which is that of a thread above it.
pub(crate) fn paused_with(above: &ThreadId, reason: Reason) -> Reason {
    Reason { role: None, why: format!("paused with thread {above}: {}", reason.why), ..reason }
}

/// Threads that are paused because one above them is, and which one that is. Only the children of paused threads are
/// looked at.
///
/// # Errors
/// Those of the directories.
pub(crate) fn paused_below(
    home: &Home,
    marks: &BTreeMap<String, BTreeSet<Mark>>,
) -> Result<BTreeMap<ThreadId, ThreadId>> {
    let mut below = BTreeMap::new();
    let paused = marks.iter().filter(|(_, marks)| marks.contains(&Mark::Paused)).filter_map(|(id, _)| id.parse().ok());
    for top in paused {
        let top: ThreadId = top;
        let mut open = vec![top.clone()];
        while let Some(thread) = open.pop() {
            for child in children::known(home, &thread)? {
                if below.insert(child.clone(), top.clone()).is_none() {
                    open.push(child);
                }
            }
        }
    }
    Ok(below)
}
