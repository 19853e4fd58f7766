//! Counts failures of an activity that were caused by a worker's machine: its configuration or its store. Another worker may succeed, so a
//! single worker never stops a thread.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use temporalio_sdk::activities::ActivityContext;

/// Number of different workers that must fail before a thread stops.
const WORKERS: usize = 3;

/// Number of failures after which a thread stops even with fewer workers. Temporal gives each retry to any worker, often to the same one
/// again.
const TRIES: u32 = 30;

/// Content of an activity's heartbeat. Temporal passes it to the worker of the next retry, and to commands that follow the thread.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct HeartbeatDetails {
    #[serde(flatten)]
    failures: WorkerFailures,
    /// Branches of a group that cannot continue for now, by thread, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) delayed: BTreeMap<String, String>,
}

/// Failures so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerFailures {
    workers: Vec<String>,
    count: u32,
}

impl WorkerFailures {
    /// The failures before this one.
    pub(crate) fn before(ctx: &ActivityContext) -> WorkerFailures {
        // Data that can't be read is from another version, so start again at zero.
        let details: HeartbeatDetails = ctx.heartbeat_details().deserialize().ok().flatten().unwrap_or_default();
        details.failures
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

    /// Saves the failures in Temporal, with the branches that are delayed.
    pub(crate) async fn keep(&self, ctx: &ActivityContext, delayed: BTreeMap<String, String>) {
        // Texts and a number can always be serialized.
        let _ = ctx.record_heartbeat(HeartbeatDetails { failures: self.clone(), delayed }).await;
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
