//! Tries of an activity that failed for what is wrong with a worker's machine: its configuration, its store. Another worker may do
//! it, so none of them decides alone that a thread stands still.

use serde::{Deserialize, Serialize};
use temporalio_sdk::activities::ActivityContext;

/// So many workers must fail before a thread stands still.
const WORKERS: usize = 3;

/// So many tries are enough where there are fewer workers. Temporal gives a try to any of them, often to the same one again.
const TRIES: u32 = 30;

/// Who tried in vain. It goes to Temporal as news of the activity, and from there to the next worker that tries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tries {
    workers: Vec<String>,
    count: u32,
}

impl Tries {
    /// Those before this one.
    pub(crate) fn before(ctx: &ActivityContext) -> Tries {
        // What cannot be read was written by another version: counting begins again.
        ctx.heartbeat_details().deserialize().ok().flatten().unwrap_or_default()
    }

    /// With one more, by this worker.
    pub(crate) fn and(mut self, worker: String) -> Tries {
        self.count += 1;
        if !self.workers.contains(&worker) {
            self.workers.push(worker);
        }
        self
    }

    /// Whether no other worker is to try.
    pub(crate) fn are_enough(&self) -> bool {
        self.workers.len() >= WORKERS || self.count >= TRIES
    }

    /// Lets Temporal keep them.
    pub(crate) async fn keep(&self, ctx: &ActivityContext) {
        // Names and a number are always text that can be sent.
        let _ = ctx.record_heartbeat(self.clone()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(workers: &[&str]) -> Tries {
        workers.iter().fold(Tries::default(), |tries, worker| tries.and((*worker).to_owned()))
    }

    #[test]
    fn three_workers_or_thirty_attempts_by_one_suffice() {
        assert!(!by(&["one", "two", "one", "two"]).are_enough());
        assert!(by(&["one", "two", "three"]).are_enough());
        assert!(!by(&["one"; 29]).are_enough());
        assert!(by(&["one"; 30]).are_enough());
    }
}
