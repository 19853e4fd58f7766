//! Counts failures of an activity that were caused by a worker's machine: its configuration or its store. Another worker may succeed, so a
//! single worker never stops a thread.

use serde::{Deserialize, Serialize};
use temporalio_sdk::activities::ActivityContext;

/// Number of different workers that must fail before a thread stops.
const WORKERS: usize = 3;

/// Number of failures after which a thread stops even with fewer workers. Temporal gives each retry to any worker, often to the same one
/// again.
const TRIES: u32 = 30;

/// Failures so far. Temporal gets them with the activity's heartbeat, and passes them to the worker of the next retry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerFailures {
    workers: Vec<String>,
    count: u32,
}

impl WorkerFailures {
    /// The failures before this one.
    pub(crate) fn before(ctx: &ActivityContext) -> WorkerFailures {
        // Data that can't be read is from another version, so start again at zero.
        ctx.heartbeat_details().deserialize().ok().flatten().unwrap_or_default()
    }

    /// Adds a failure of this worker.
    pub(crate) fn and(mut self, worker: String) -> WorkerFailures {
        self.count += 1;
        if !self.workers.contains(&worker) {
            self.workers.push(worker);
        }
        self
    }

    /// Whether to stop instead of retrying on another worker.
    pub(crate) fn are_enough(&self) -> bool {
        self.workers.len() >= WORKERS || self.count >= TRIES
    }

    /// Saves the failures in Temporal.
    pub(crate) async fn keep(&self, ctx: &ActivityContext) {
        // Names and a number can always be serialized.
        let _ = ctx.record_heartbeat(self.clone()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(workers: &[&str]) -> WorkerFailures {
        workers.iter().fold(WorkerFailures::default(), |tries, worker| tries.and((*worker).to_owned()))
    }

    #[test]
    fn three_workers_or_thirty_attempts_by_one_suffice() {
        assert!(!by(&["one", "two", "one", "two"]).are_enough());
        assert!(by(&["one", "two", "three"]).are_enough());
        assert!(!by(&["one"; 29]).are_enough());
        assert!(by(&["one"; 30]).are_enough());
    }
}
