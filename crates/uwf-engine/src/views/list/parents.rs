//! States that listed threads have from the threads above them.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use super::ThreadRow;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::children;
use crate::thread::state::ThreadState;
use crate::views::left_child;

/// Marks stopped child threads, and active ones below them, that the thread above continued without. Unless `all` are requested, they are
/// removed: nothing continues them.
pub(super) fn leave_behind(home: &Home, rows: &mut Vec<ThreadRow>, all: bool) -> Result<()> {
    let heads: HashMap<ThreadId, NodeHash> = rows.iter().map(|row| (row.thread.clone(), row.head)).collect();
    let mut left: HashMap<ThreadId, ThreadId> = HashMap::new();
    for row in rows.iter().filter(|row| row.state.has_stopped()) {
        // The row of an unreadable thread says so.
        let above = left_child::left_by(home, &row.thread, |id| Ok(heads.get(id).copied())).unwrap_or_default();
        left.extend(above.map(|above| (row.thread.clone(), above)));
    }
    let mut open: Vec<(ThreadId, ThreadId)> =
        left.iter().map(|(thread, above)| (thread.clone(), above.clone())).collect();
    while let Some((thread, above)) = open.pop() {
        for child in children::known(home, &thread)? {
            if heads.contains_key(&child) && left.insert(child.clone(), above.clone()).is_none() {
                open.push((child, above.clone()));
            }
        }
    }
    rows.retain(|row| all || row.state == ThreadState::Running || !left.contains_key(&row.thread));
    for row in rows.iter_mut().filter(|row| row.state != ThreadState::Running) {
        if let Some(above) = left.remove(&row.thread) {
            (row.left_by, row.stopped_with) = (Some(above), None);
        }
    }
    Ok(())
}

/// Gives active child threads of a stopped thread the state of that thread, which has to continue them. Reads only the children of stopped
/// threads.
pub(super) fn stop_with_parents(home: &Home, rows: &mut [ThreadRow]) -> Result<()> {
    let stopped = rows.iter().filter(|row| row.state.has_stopped());
    let mut open: Vec<(ThreadId, ThreadId, ThreadState)> =
        stopped.map(|row| (row.thread.clone(), row.thread.clone(), row.state)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut active: HashMap<ThreadId, &mut ThreadRow> =
        rows.iter_mut().filter(|row| row.state == ThreadState::Active).map(|row| (row.thread.clone(), row)).collect();
    while let Some((thread, top, state)) = open.pop() {
        for child in children::known(home, &thread)? {
            if let Some(row) = active.remove(&child) {
                (row.state, row.stopped_with) = (state, Some(top.clone()));
                open.push((child, top.clone(), state));
            }
        }
    }
    Ok(())
}
