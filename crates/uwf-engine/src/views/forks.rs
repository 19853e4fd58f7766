//! Finds the thread that a thread was forked from, and the forks of a thread.
//!
//! uwf does not record forks: a fork is a head on an old node. But threads that share steps come from each other. Each thread is a fork of
//! the older thread that it shares most steps with.

use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::thread::chain::{Record, StepChain};
use crate::views::list::{self, ThreadFilter, ThreadRow};
use crate::views::thread_now::ThreadNow;

/// How many threads with the same task are checked, newest first.
pub const MOST_THREADS: usize = 100;

/// How many steps of their chains are read in all: a page waits for them.
const MOST_STEPS: usize = 20_000;

/// Threads that share steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkFamily {
    /// The threads, oldest first, including the thread itself.
    pub threads: Vec<RelatedThread>,
    /// Whether there are more threads with the same task, which were not checked.
    pub are_more: bool,
}

/// One of several threads that share steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedThread {
    /// The thread as in a listing.
    pub row: ThreadRow,
    /// Its number of steps.
    pub steps: usize,
    /// Its origin; none for the oldest.
    pub from: Option<ForkOrigin>,
}

/// The origin of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOrigin {
    /// The thread.
    pub thread: ThreadId,
    /// Number of steps that both have. They diverge after these.
    pub shared: usize,
}

/// The threads that share steps with a thread. A thread without steps has none.
pub fn find_family(now: &ThreadNow<'_>) -> Result<ForkFamily> {
    let thread = &now.thread;
    let home = thread.home();
    let Some(first) = thread.chain()?.get(0) else { return Ok(ForkFamily { threads: Vec::new(), are_more: false }) };
    let filter = ThreadFilter {
        all: true,
        workflows: Some(vec![thread.start.workflow]),
        start: Some(thread.start_hash),
        ..ThreadFilter::default()
    };
    let mut rows = list::list(home, &filter)?.rows;
    // The rows are newest first, and the thread itself may be an old one.
    let mut are_more = rows.len() > MOST_THREADS;
    let mut listed = 0;
    rows.retain(|row| {
        listed += 1;
        listed <= MOST_THREADS || row.thread == thread.id
    });
    let mut looked_at = 0;
    let mut family: Vec<(ThreadRow, StepChain)> = Vec::new();
    for mut row in rows {
        if row.thread == thread.id {
            (row.head, row.state, row.pausing) = (thread.head, now.state, now.is_pausing());
            row.role = thread.last.as_ref().map(|last| last.role.clone());
        }
        if looked_at > MOST_STEPS && row.thread != thread.id {
            are_more = true;
            continue;
        }
        let head = row.role.as_ref().map(|_| row.head);
        // An unreadable thread counts as unrelated.
        let Ok(chain) = StepChain::load(home, &row.thread, head) else { continue };
        looked_at += chain.len();
        if chain.get(0).is_some_and(|record| record.step == first.step) {
            family.push((row, chain));
        }
    }
    family.sort_by(|(a, _), (b, _)| a.thread.cmp(&b.thread));
    let from: Vec<Option<ForkOrigin>> =
        (0..family.len()).map(|index| origin(&family[..index], &family[index].1)).collect();
    let threads = family.into_iter().zip(from);
    let threads = threads.map(|((row, chain), from)| RelatedThread { row, steps: chain.len(), from });
    Ok(ForkFamily { threads: threads.collect(), are_more })
}

/// The older thread that shares most steps with a chain; among several, the oldest.
fn origin(older: &[(ThreadRow, StepChain)], chain: &StepChain) -> Option<ForkOrigin> {
    let shared = older.iter().map(|(row, other)| (row, shared(other.records(), chain.records())));
    let (row, shared) = shared.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    Some(ForkOrigin { thread: row.thread.clone(), shared })
}

/// How many steps two chains share. The hash of a step covers its predecessors, so chains diverge only once.
fn shared(one: &[Record], other: &[Record]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one.step == other.step).count()
}
