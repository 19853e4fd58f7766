//! How long failed attempts took. Their nodes don't say it, but the records of their threads do.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::number;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::{RecordedAttempt, ThreadRecord};
use crate::root::home::Home;
use crate::thread::children;
use crate::thread::nodes;

/// Durations of the ended attempts in the record of a thread, and of its child threads.
#[derive(Default)]
pub(super) struct AttemptTimes {
    /// Milliseconds of all attempts with a node, and their number: attempts that said the same have the same node.
    by_node: HashMap<NodeHash, (u64, u64)>,
}

impl AttemptTimes {
    /// Reads the records. An unreadable record has no times.
    pub(super) fn read(home: &Home, thread: &ThreadId) -> AttemptTimes {
        let record = ThreadRecord::read(home, thread).map(|record| record.all());
        AttemptTimes::from_record(home, thread, record.unwrap_or_default())
    }

    /// The same, with the attempts in a record that was read before.
    pub(super) fn from_record(home: &Home, thread: &ThreadId, attempts: Vec<RecordedAttempt>) -> AttemptTimes {
        let mut times = AttemptTimes::default();
        times.add(home, thread, attempts, 0);
        times
    }

    fn add(&mut self, home: &Home, thread: &ThreadId, attempts: Vec<RecordedAttempt>, depth: usize) {
        for (node, duration) in attempts.iter().filter_map(duration) {
            let (sum, count) = self.by_node.entry(node).or_default();
            (*sum, *count) = (number::sum(*sum, duration), *count + 1);
        }
        // The steps of a child thread are part of its parent's, without its id.
        for child in children::known(home, thread).unwrap_or_default() {
            if depth < nodes::MAX_NESTING {
                let record = ThreadRecord::read(home, &child).map(|record| record.all());
                self.add(home, &child, record.unwrap_or_default(), depth + 1);
            }
        }
    }

    /// Milliseconds of an attempt, by its node.
    pub(super) fn of_attempt(&self, attempt: NodeHash) -> Option<u64> {
        self.by_node.get(&attempt).map(|(sum, count)| sum / count)
    }
}

/// The node of an ended attempt, and for how many milliseconds its agent worked.
fn duration(attempt: &RecordedAttempt) -> Option<(NodeHash, u64)> {
    let (opened, closed) = (&attempt.opened, attempt.closed.as_ref()?);
    // The steps of its threads have their own times.
    let node = closed.node.filter(|_| !opened.agent.plays_by_threads())?;
    let begun = attempt.started.as_ref().and_then(|started| started.started_at).unwrap_or(opened.opened_at);
    let duration = closed.closed_at.saturating_sub(begun);
    // If its keeper was killed, the attempt was closed by a later process.
    Some((node, opened.agent.timeout_ms.map_or(duration, |limit| duration.min(limit))))
}
