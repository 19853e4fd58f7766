//! Child threads: a workflow that plays a role runs in a thread of its own. If the role is tried again at the same head, uwf finds the same
//! child thread.
//!
//! Each machine records for itself which thread a child belongs to. The child's settings name its parent, and the parent's directory
//! `children/` has an empty file for each child, so that `kill` and `pause` find the children. Nodes contain only the parent's head and the
//! depth. In a shared store, the note about the workplace of a branch names its parent for other machines.

pub(crate) mod branch_path;
pub(crate) mod kinship;
pub mod stopped_branches;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use durable_files::regular;
use json_cas::NodeHash;
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;

use crate::attempt::settings::ThreadSettings;
use crate::error::{AtPath, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::thread::children;
pub(crate) use crate::thread::children::id_for;
use crate::thread::load::Thread;
use crate::thread::state::{self, ThreadState};

/// How many ancestors of a thread are checked. Far more than any `maxDepth`, so that it only stops at a record that names itself as its
/// parent.
pub(crate) const MAX_ANCESTORS: usize = 64;

/// A child thread, active or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Child {
    /// It can be stepped.
    Active(ThreadId),
    /// It has ended.
    Ended(HistoryLine),
}

/// Why a step failed whose child thread was killed.
pub fn was_killed(child: &ThreadId) -> String {
    format!("child thread {child} was killed")
}

/// Whether a role has an ended child thread at the parent's head.
pub fn has_ended(parent: &Thread<'_>, role: &str) -> Result<bool> {
    Ok(matches!(find(parent.home(), &id_for(parent, role))?, Some(Child::Ended(_))))
}

/// The child thread of a role at the parent's head, if this machine knows it.
pub(crate) fn that_played(parent: &Thread<'_>, role: &str) -> Result<Option<ThreadId>> {
    let id = id_for(parent, role);
    Ok(find(parent.home(), &id)?.map(|_| id))
}

pub(crate) fn find(home: &Home, id: &ThreadId) -> Result<Option<Child>> {
    if home.heads().read(id.as_str())?.is_some() {
        return Ok(Some(Child::Active(id.clone())));
    }
    Ok(history::newest_line(home, id)?.map(Child::Ended))
}

/// The children of a thread on this machine, oldest first; the branches of a group in the order of the group.
pub(crate) fn in_order(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let mut known = children::known(home, parent)?;
    kinship::sort(home, &mut known);
    Ok(known)
}

/// The threads below a killed thread that were killed as well, as far as this machine knows them.
///
/// # Errors
/// `Io` when they can't be listed, errors of the history.
pub fn killed_below(home: &Home, thread: &ThreadId) -> Result<BTreeSet<ThreadId>> {
    let (mut killed, mut open) = (BTreeSet::new(), vec![thread.clone()]);
    while let Some(above) = open.pop() {
        for child in children::known(home, &above)? {
            let is_killed = history::newest_line(home, &child)?.is_some_and(|line| line.status == EndStatus::Killed);
            if is_killed && killed.insert(child.clone()) {
                open.push(child);
            }
        }
    }
    Ok(killed)
}

/// Records the child thread with its parent.
pub(crate) fn note_child(home: &Home, parent: &ThreadId, id: &ThreadId) -> Result<()> {
    let dir = home.children_dir(parent);
    fs::create_dir_all(&dir).path_context("create", &dir)?;
    let note = dir.join(id.as_str());
    regular::write(&note, b"").path_context("write", &note)
}

/// Records the group of a branch that came to this machine. The agent of the branch can't ask other machines where its group belongs.
///
/// # Errors
/// Errors of the index, the record and the store.
pub(crate) fn record_group(home: &Home, branch: &ThreadId, of_branch: &ThreadSettings) -> Result<()> {
    let Some(group) = of_branch.parent.as_ref().filter(|_| of_branch.branch.is_some()) else { return Ok(()) };
    if ThreadSettings::load(home, group)?.is_some() {
        return Ok(());
    }
    let (Some(published), Some(head)) = (ThreadSettings::published(home, group)?, home.heads().read(group.as_str())?)
    else {
        return Ok(());
    };
    let workspace = of_branch.workspace.clone();
    ThreadSettings { workspace, ..published }.begun_at(head.hash).save(home, group)?;
    note_child(home, group, branch)
}

/// The active children of a thread on this machine, in the same order.
pub fn active(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let known = in_order(home, parent)?;
    if known.is_empty() {
        return Ok(known);
    }
    let heads: BTreeSet<String> = home.heads().list()?.into_iter().map(|(id, _)| id).collect();
    Ok(known.into_iter().filter(|id| heads.contains(id.as_str())).collect())
}

/// The active children of an ended thread at its last head, one for each role. They may have begun on another machine.
pub(crate) fn active_at_end(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let Some(line) = history::newest_line(home, parent)? else { return Ok(Vec::new()) };
    let Ok(thread) = Thread::load_at(home, parent.clone(), line.head) else { return Ok(Vec::new()) };
    let Ok(workflow) = thread.workflow() else { return Ok(Vec::new()) };
    let mut active = Vec::new();
    for id in workflow.roles.keys().map(|role| id_for(&thread, role)) {
        if home.heads().read(id.as_str())?.is_some() {
            active.push(id);
        }
    }
    Ok(active)
}

/// The children of a thread on this machine that ended with the step `last`: one, unless two of them share their nodes.
pub(crate) fn ended_at(home: &Home, parent: &ThreadId, last: NodeHash) -> Result<Vec<ThreadId>> {
    let mut ended = Vec::new();
    for id in children::known(home, parent)? {
        if history::newest_line(home, &id)?.is_some_and(|line| line.head == last) {
            ended.push(id);
        }
    }
    Ok(ended)
}

/// The parent of a child thread, if this machine knows it.
pub fn parent_of(home: &Home, id: &ThreadId) -> Option<ThreadId> {
    ThreadSettings::load(home, id).ok().flatten().and_then(|settings| settings.parent)
}

/// The thread whose steps continue a thread: the thread itself, or the topmost above it that this machine knows.
pub fn topmost(home: &Home, id: &ThreadId) -> ThreadId {
    let above = std::iter::successors(Some(id.clone()), |below| parent_of(home, below));
    above.take(MAX_ANCESTORS).last().unwrap_or_else(|| id.clone())
}

/// The thread itself or its nearest ancestor that is paused, with the reason of the pause.
///
/// # Errors
/// `Io` when marks or settings can't be read: a paused thread must not continue by mistake.
pub fn paused(home: &Home, id: &ThreadId) -> Result<Option<(ThreadId, MarkReason)>> {
    match marks::read(home, id, ThreadMark::Paused)? {
        Some(reason) => Ok(Some((id.clone(), reason))),
        None => paused_above(home, parent_in(ThreadSettings::load_or_published(home, id))?),
    }
}

/// The parent that settings name; damaged settings name none.
pub(crate) fn parent_in(settings: Result<Option<ThreadSettings>>) -> Result<Option<ThreadId>> {
    match settings {
        Err(error) if !error.is_damage() => Err(error),
        other => Ok(other.ok().flatten().and_then(|settings| settings.parent)),
    }
}

/// The parent or its nearest ancestor that is paused, with the reason of the pause.
pub(crate) fn paused_above(home: &Home, parent: Option<ThreadId>) -> Result<Option<(ThreadId, MarkReason)>> {
    let mut at = parent;
    for _ in 0..MAX_ANCESTORS {
        let Some(thread) = at else { return Ok(None) };
        if let Some(reason) = marks::read(home, &thread, ThreadMark::Paused)? {
            return Ok(Some((thread, reason)));
        }
        at = parent_in(ThreadSettings::load_or_published(home, &thread))?;
    }
    Ok(None)
}

/// The reason of a child's pause, from the reason of the paused thread `above`.
pub(crate) fn paused_with(above: &ThreadId, reason: MarkReason) -> MarkReason {
    MarkReason { role: None, why: format!("paused with thread {above}: {}", reason.why), ..reason }
}

/// The nearest ancestor that waits for a person, is at a limit or is stuck, with its state and since when; `None` if a nearer one is
/// running or paused.
///
/// # Errors
/// Errors of the index, `Io` when settings can't be read.
pub(crate) fn stopped_above(
    home: &Home,
    parent: Option<ThreadId>,
) -> Result<Option<(ThreadId, ThreadState, Option<u64>)>> {
    let mut at = parent;
    for _ in 0..MAX_ANCESTORS {
        let Some(thread) = at else { return Ok(None) };
        let Some(head) = home.heads().read(thread.as_str())? else { return Ok(None) };
        let marks = marks::at_head(home, &thread, &marks::of_here(home, &thread), head.hash);
        match state::of_active(home, &thread, &marks) {
            state if state.has_stopped() => {
                let mark = marks.into_iter().find(|mark| *mark != ThreadMark::Open);
                let since = mark.and_then(|mark| marks::get(home, &thread, mark)).map(|reason| reason.since);
                return Ok(Some((thread, state, since)));
            }
            ThreadState::Active => at = parent_in(ThreadSettings::load(home, &thread))?,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Why a thread does not continue whose ancestor `above` has stopped in this state.
pub(crate) fn stopped_with(above: &ThreadId, state: ThreadState) -> String {
    format!("{} with thread {above}", state.name())
}

/// Threads that are paused because an ancestor is, with that ancestor. Reads only the children of paused threads.
pub(crate) fn paused_below(
    home: &Home,
    marks: &BTreeMap<String, BTreeSet<ThreadMark>>,
) -> Result<BTreeMap<ThreadId, ThreadId>> {
    let mut below = BTreeMap::new();
    let paused =
        marks.iter().filter(|(_, marks)| marks.contains(&ThreadMark::Paused)).filter_map(|(id, _)| id.parse().ok());
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
