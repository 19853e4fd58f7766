//! Threads of hooks that wait: for the end of a usage limit, or for a reply. Their runs end with the machine, so a server looks for them when
//! it starts.

use std::collections::BTreeSet;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use super::deliveries;
use crate::attempt::child_threads;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::verbs::step::newest_attempt::{self, NewestAttempt};

/// A thread that waits, as it was when the wait began.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingRun {
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: NodeHash,
    /// The newest attempt there. Another process that continues the thread begins a newer one.
    pub attempt: NewestAttempt,
    /// End of the wait, Unix milliseconds.
    pub until: u64,
    /// Whether a reply ends the wait earlier.
    pub waits_for_reply: bool,
}

/// The threads that hooks run and that wait on this machine.
///
/// # Errors
/// `Io`, errors of a shared store.
pub fn waiting_runs(home: &Home) -> Result<Vec<WaitingRun>> {
    let marked = marks::all_here(home)?;
    let waiting: Vec<(ThreadId, ThreadMark)> = marked
        .into_iter()
        .filter_map(|(thread, set)| {
            let mark = [ThreadMark::Waiting, ThreadMark::Limited].into_iter().find(|mark| set.contains(mark))?;
            Some((thread.parse().ok()?, mark))
        })
        .collect();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let notes = deliveries::all(home)?;
    let run = notes.iter().map(deliveries::DeliveryNote::thread).filter(|(_, run)| *run);
    let run: BTreeSet<ThreadId> = run.map(|(thread, _)| child_threads::topmost(home, thread)).collect();
    let mut found = Vec::new();
    for (thread, mark) in waiting.into_iter().filter(|(thread, _)| run.contains(thread)) {
        let Some(until) = marks::get(home, &thread, mark).and_then(|reason| reason.until) else { continue };
        let Some(head) = home.heads().read(thread.as_str())? else { continue };
        let attempt = newest_attempt::at_head(home, &thread, head.hash)?;
        let waits_for_reply = mark == ThreadMark::Waiting;
        found.push(WaitingRun { thread, head: head.hash, attempt, until, waits_for_reply });
    }
    Ok(found)
}

impl WaitingRun {
    /// Whether the wait is over at this time, Unix milliseconds.
    pub fn is_over(&self, home: &Home, now: u64) -> bool {
        let is_replied = || self.waits_for_reply && marks::get(home, &self.thread, ThreadMark::Waiting).is_none();
        self.until <= now || is_replied()
    }
}
